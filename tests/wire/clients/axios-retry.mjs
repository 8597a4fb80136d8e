/* axios with axios-retry; MODE says whether 5xx answers of a POST are repeated, too. */
import axios from 'axios';
import axiosRetry, { isRetryableError } from 'axios-retry';
import { each, judged, keyed, mode } from './common.mjs';

each(async (call) => {
  const client = axios.create({ timeout: call.timeout_ms, transformResponse: (text) => text });
  axiosRetry(client, mode === 'all'
    ? { retries: 3, retryCondition: isRetryableError } : { retries: 3 });
  const response = await client.post(`${call.base}/orders`, { order: call.token },
    { headers: keyed(call) });
  return judged(response.status, response.data);
});
