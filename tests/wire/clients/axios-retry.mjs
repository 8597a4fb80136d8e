/* axios with axios-retry; MODE says whether 5xx answers of a POST are repeated, too. */
import axios from 'axios';
import axiosRetry, { isRetryableError } from 'axios-retry';
import { base, failed, judged, key, timeout, token } from './common.mjs';

const client = axios.create({ timeout, transformResponse: (text) => text });
axiosRetry(client, process.env.MODE === 'all'
  ? { retries: 3, retryCondition: isRetryableError } : { retries: 3 });
client.post(`${base}/orders`, { order: token }, { headers: { 'Idempotency-Key': key } })
  .then((response) => judged(response.status, response.data), failed);
