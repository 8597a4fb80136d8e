/* The generated library of OpenAI, told which header carries a key. */
import OpenAI from 'openai';
import { base, failed, key, succeeded, timeout, token } from './common.mjs';

const client = new OpenAI({ apiKey: 'x', baseURL: `${base}/v1`, timeout });
client.idempotencyHeader = 'Idempotency-Key';
const options = key ? [{ idempotencyKey: key }] : [];
client.chat.completions.create(
  { model: 'm', messages: [{ role: 'user', content: token }] }, ...options,
).then(succeeded, failed);
