/* undici with its RetryAgent, told that a POST may be repeated. */
import { Agent, RetryAgent, request } from 'undici';
import { each, judged, keyed } from './common.mjs';

each(async (call) => {
  const response = await request(`${call.base}/orders`, {
    method: 'POST', headersTimeout: call.timeout_ms, bodyTimeout: call.timeout_ms,
    dispatcher: new RetryAgent(new Agent(), { methods: ['POST'], maxRetries: 3 }),
    headers: { 'content-type': 'application/json', ...keyed(call, 'idempotency-key') },
    body: JSON.stringify({ order: call.token }),
  });
  return judged(response.statusCode, await response.body.text());
});
