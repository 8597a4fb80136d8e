/* PayPal's library: a token first, then the order, with its key in a header of PayPal's own.
 * It does not repeat anything, and the path that it asks for ends in a bare question mark. */
import paypal from '@paypal/checkout-server-sdk';
import { each, judged, keyed } from './common.mjs';

const { core, orders } = paypal;

each(async (call) => {
  const { base, token, timeout_ms: timeout } = call;
  const request = new orders.OrdersCreateRequest();
  Object.assign(request.headers, keyed(call, 'PayPal-Request-Id'));
  request.requestBody({
    intent: 'CAPTURE',
    purchase_units: [{ reference_id: token, amount: { currency_code: 'USD', value: '1.00' } }],
  });
  const client = new core.PayPalHttpClient(
    new core.PayPalEnvironment('id', 'secret', base, base));
  client.getTimeout = () => timeout;
  const response = await client.execute(request);
  return judged(response.statusCode, JSON.stringify(response.result));
});
