/* ky as it is, which repeats no POST, or (MODE=all) told that a POST may be repeated. */
import ky from 'ky';
import { each, judged, keyed, mode } from './common.mjs';

each(async (call) => {
  const response = await ky.post(`${call.base}/orders`, {
    json: { order: call.token }, headers: keyed(call), timeout: call.timeout_ms,
    ...(mode === 'all' ? { retry: { methods: ['post'], limit: 2 } } : {}),
  });
  return judged(response.status, await response.text());
});
