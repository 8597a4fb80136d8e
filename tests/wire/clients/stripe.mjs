/* Stripe's own library with its form body and its own repeats: two, or (MODE=once) none. */
import Stripe from 'stripe';
import { each, mode } from './common.mjs';

each(({ base, key, token, timeout_ms: timeout }) => {
  const { hostname: host, port } = new URL(base);
  const stripe = new Stripe('sk_test_x', {
    host, port, protocol: 'http', telemetry: false, timeout,
    ...(mode === 'once' ? { maxNetworkRetries: 0 } : {}),
  });
  const options = key ? [{ idempotencyKey: key }] : [];
  return stripe.charges.create({ amount: 100, currency: 'usd', description: token }, ...options);
});
