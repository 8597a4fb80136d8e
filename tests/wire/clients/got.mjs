/* got, told that a POST may be repeated. */
import got from 'got';
import { base, failed, judged, key, timeout, token } from './common.mjs';

got.post(`${base}/orders`, {
  json: { order: token }, headers: { 'idempotency-key': key },
  timeout: { response: timeout }, retry: { methods: ['POST'], limit: 2 },
}).then((response) => judged(response.statusCode, response.body), failed);
