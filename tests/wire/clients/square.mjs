/* Square's library: the key is a member of the JSON body. */
import { SquareClient } from 'square';
import { base, failed, key, succeeded, timeout, token } from './common.mjs';

const client = new SquareClient({ token: 'x', environment: base });
client.payments.create({
  sourceId: 'cnon:card-nonce-ok', idempotencyKey: key, note: token,
  amountMoney: { amount: 100n, currency: 'USD' },
}, { timeoutInSeconds: Math.ceil(timeout / 1000) }).then(succeeded, failed);
