/* Stripe's own library, with its own repeats (two) and its form body. */
import Stripe from 'stripe';
import { failed, key, succeeded, target, timeout, token } from './common.mjs';

const stripe = new Stripe('sk_test_x', {
  host: target.hostname, port: target.port, protocol: 'http', telemetry: false, timeout,
});
const options = key ? [{ idempotencyKey: key }] : [];
stripe.charges.create({ amount: 100, currency: 'usd', description: token }, ...options)
  .then(succeeded, failed);
