/* superagent with `.retry(2)`: it repeats a POST at once. */
import superagent from 'superagent';
import { each, judged, keyed } from './common.mjs';

each(async (call) => {
  const response = await superagent.post(`${call.base}/orders`).set(keyed(call)).retry(2)
    .timeout({ response: call.timeout_ms }).send({ order: call.token });
  return judged(response.status, response.text);
});
