/* got, told that a POST may be repeated. */
import got from 'got';
import { each, judged, keyed } from './common.mjs';

each(async (call) => {
  const response = await got.post(`${call.base}/orders`, {
    json: { order: call.token }, headers: keyed(call, 'idempotency-key'),
    timeout: { response: call.timeout_ms }, retry: { methods: ['POST'], limit: 2 },
  });
  return judged(response.statusCode, response.body);
});
