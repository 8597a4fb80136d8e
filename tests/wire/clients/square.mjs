/* Square's library: the key is a member of the JSON body. */
import { SquareClient } from 'square';
import { each } from './common.mjs';

each(({ base, key, token, timeout_ms: timeout }) => {
  const client = new SquareClient({ token: 'x', environment: base });
  const member = key ? { idempotencyKey: key } : {};
  return client.payments.create({
    sourceId: 'cnon:card-nonce-ok', ...member, note: token,
    amountMoney: { amount: 100n, currency: 'USD' },
  }, { timeoutInSeconds: Math.ceil(timeout / 1000) });
});
