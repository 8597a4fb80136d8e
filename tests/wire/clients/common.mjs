/* What the client programs share: the calls that they are to make, all at once, and one
 * line of JSON for each that says how it ended. It never repeats anything: that is for
 * the client. */
const calls = JSON.parse(process.env.CALLS);
export const mode = process.env.MODE;

const plain = (_, value) => (typeof value === 'bigint' ? String(value) : value);

export function judged(status, text) {
  return { ok: status < 300, status, text: String(text) };
}

function failed(error) {
  const status = error.statusCode ?? error.status ?? error.response?.status
    ?? error.response?.statusCode ?? null;
  return { ok: false, status, text: String(error.message ?? error) };
}

/* make(call): a promise of what `judged` made, or of a library's own value. The end of the
 * last call ends the program: some libraries leave timers behind. */
export async function each(make) {
  await Promise.all(calls.map(async (call, index) => {
    let result;
    try {
      const value = await make(call);
      result = typeof value?.ok === 'boolean' ? value
        : { ok: true, status: null, text: JSON.stringify(value, plain) };
    } catch (error) {
      result = failed(error);
    }
    console.log(JSON.stringify({ ...result, call: index }));
  }));
  process.exit(0);
}

/* The header that carries a key, when there is one. */
export function keyed({ key }, name = 'Idempotency-Key') {
  return key ? { [name]: key } : {};
}
