/* undici with its RetryAgent, told that a POST may be repeated. */
import { Agent, RetryAgent, request } from 'undici';
import { base, failed, judged, key, timeout, token } from './common.mjs';

request(`${base}/orders`, {
  method: 'POST', headersTimeout: timeout, bodyTimeout: timeout,
  dispatcher: new RetryAgent(new Agent(), { methods: ['POST'], maxRetries: 3 }),
  headers: { 'content-type': 'application/json', 'idempotency-key': key },
  body: JSON.stringify({ order: token }),
}).then(async (response) => judged(response.statusCode, await response.body.text()))
  .catch(failed);
