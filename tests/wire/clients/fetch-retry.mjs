/* fetch-retry as it is, which repeats only what got no answer, or (MODE=all) told which
 * statuses to repeat. */
import fetchRetry from 'fetch-retry';
import { each, judged, keyed, mode } from './common.mjs';

const persistent = fetchRetry(globalThis.fetch);

each(async (call) => {
  const response = await persistent(`${call.base}/orders`, {
    method: 'POST', body: JSON.stringify({ order: call.token }),
    headers: { 'Content-Type': 'application/json', ...keyed(call) },
    signal: AbortSignal.timeout(call.timeout_ms), retries: 2, retryDelay: 200,
    ...(mode === 'all' ? { retryOn: [409, 429, 500, 502, 503, 504] } : {}),
  });
  return judged(response.status, await response.text());
});
