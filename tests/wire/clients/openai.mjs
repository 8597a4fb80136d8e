/* The generated library of OpenAI, told (but for MODE=headerless) which header carries a key. */
import OpenAI from 'openai';
import { each, mode } from './common.mjs';

each(({ base, key, token, timeout_ms: timeout }) => {
  const client = new OpenAI({ apiKey: 'x', baseURL: `${base}/v1`, timeout });
  if (mode !== 'headerless') client.idempotencyHeader = 'Idempotency-Key';
  const options = key ? [{ idempotencyKey: key }] : [];
  return client.chat.completions.create(
    { model: 'm', messages: [{ role: 'user', content: token }] }, ...options,
  );
});
