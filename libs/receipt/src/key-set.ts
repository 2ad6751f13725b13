/** A public key in a JSON Web Key Set. Other members are not looked at. */
export interface ReceiptKey {
  readonly kty: string;
  readonly crv?: string | undefined;
  readonly x?: string | undefined;
  readonly kid?: string | undefined;
}

/** Where the keys of receipts come from. */
export interface KeySource {
  /** The keys with this id. @throws Error when the keys cannot be read. */
  readonly find: (kid: string) => Promise<ReceiptKey | undefined>;
}

/** The keys of a list. */
export function keysOf(keys: readonly ReceiptKey[]): KeySource {
  return { find: (kid) => Promise.resolve(withKid(keys, kid)) };
}

const freshMs = 5 * 60_000;
const againMs = 30_000;
const withoutAnswerMs = 60 * 60_000;
const setBytesMax = 65_536;

/** The dependencies of a key set. */
export interface KeySetPorts {
  readonly fetch: (url: string, init: { readonly headers: Record<string, string> } & FetchOptions) => Promise<Response>;
  /** Milliseconds since 1970. */
  readonly now: () => number;
}

interface FetchOptions {
  readonly redirect: 'error';
  readonly signal: AbortSignal;
}

/**
 * The keys of a URL. They are read again after 5 minutes and, at most every 30 seconds, for an id that is not known. While the URL does
 * not answer, the keys that were read within the last hour are used.
 */
export function createKeySet(url: string, { fetch, now }: KeySetPorts): KeySource {
  let set: KnownSet = { keys: [], tag: null, readAt: -Infinity };
  let askedAt = -Infinity;
  let asking: Promise<void> | undefined;
  const ask = async (): Promise<void> => {
    askedAt = now();
    const headers: Record<string, string> = { accept: 'application/json' };
    if (set.tag !== null) headers['if-none-match'] = set.tag;
    const response = await fetch(url, { headers, redirect: 'error', signal: AbortSignal.timeout(5_000) });
    if (response.status === 304) set = { ...set, readAt: now() };
    else set = { keys: await readKeys(response), tag: response.headers.get('etag'), readAt: now() };
  };
  const refresh = (): Promise<void> => (asking ??= ask().finally(() => (asking = undefined)));
  const ageMs = (): number => now() - set.readAt;
  return {
    find: async (kid) => {
      const known = withKid(set.keys, kid);
      if (known !== undefined && ageMs() < freshMs) return known;
      // Attack: receipts with invented ids, each of which would ask once more.
      if (known === undefined && asking === undefined && ageMs() < freshMs && now() - askedAt < againMs)
        return undefined;
      try {
        await refresh();
      } catch (error) {
        if (known === undefined || ageMs() > withoutAnswerMs) throw error;
      }
      return withKid(set.keys, kid);
    },
  };
}

interface KnownSet {
  readonly keys: readonly ReceiptKey[];
  readonly tag: string | null;
  readonly readAt: number;
}

async function readKeys(response: Response): Promise<readonly ReceiptKey[]> {
  const text = response.status === 200 ? await response.text() : '';
  const value: unknown = text.length <= setBytesMax && text !== '' ? JSON.parse(text) : undefined;
  if (typeof value === 'object' && value !== null && 'keys' in value && Array.isArray(value.keys)) {
    return value.keys as readonly ReceiptKey[];
  }
  throw new Error(`no key set is at this address: status ${String(response.status)}`);
}

function withKid(keys: readonly ReceiptKey[], kid: string): ReceiptKey | undefined {
  return keys.find((key) => key.kid === kid && key.kty === 'OKP' && key.crv === 'Ed25519');
}
