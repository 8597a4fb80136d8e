/* What the client programs share: where to send, which operation, and one line of
 * JSON that says how it ended. It never repeats anything: that is for the client. */
export const base = process.env.BASE;
export const key = process.env.KEY;
export const token = process.env.TOKEN;
export const timeout = Number(process.env.TIMEOUT_MS);
export const target = new URL(base);

const plain = (_, value) => (typeof value === 'bigint' ? String(value) : value);

export function succeeded(value) {
  console.log(JSON.stringify({ ok: true, text: JSON.stringify(value, plain) }));
}

export function failed(error) {
  const status = error.statusCode ?? error.status ?? error.response?.status
    ?? error.response?.statusCode ?? null;
  console.log(JSON.stringify({ ok: false, status, text: String(error.message ?? error) }));
}

export function judged(status, text) {
  if (status < 300) succeeded(text);
  else failed({ statusCode: status, message: text });
}
