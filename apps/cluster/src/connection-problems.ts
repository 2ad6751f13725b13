import { readConnectionString } from '@countersign/event-store/eventstoredb';
import { readOidcConfig } from '@countersign/gateway';
import { ConfigError } from '@countersign/runtime';
import type { ConfigProblem } from '@countersign/runtime';

type Environment = Readonly<Record<string, string | undefined>>;

const url = 'COUNTERSIGN_EVENTSTORE_URL';

/** Returns the credentials of a connection string unchanged; undefined when it has none. */
function credentialsOf(text: string): { readonly user: string; readonly password: string } | undefined {
  const authority = /^[a-z+]+:\/\/([^?]*)/.exec(text)?.[1] ?? '';
  const at = authority.lastIndexOf('@');
  if (at < 0) return undefined;
  const [user = '', ...password] = authority.slice(0, at).split(':');
  return { user, password: password.join(':') };
}

interface Connection {
  readonly credentials: ReturnType<typeof credentialsOf>;
  readonly options: URLSearchParams;
  /** Variables that make the vendors' clients print debug output. */
  readonly debug: string;
}

interface Rule extends ConfigProblem {
  readonly isBroken: (connection: Connection) => boolean;
}

const rules: readonly Rule[] = [
  {
    variable: url,
    problem: 'its password has a character that must be URL-encoded (":" is %3A, "@" is %40, "/" is %2F)',
    // The client splits the password at the first `:` and the user at the last `@`, so it would send a different
    // password.
    isBroken: ({ credentials }) => /[:@/]/.test(credentials?.password ?? ''),
  },
  {
    variable: url,
    problem:
      'this is the password that every EventStoreDB is installed with: change it, and make a user for Countersign',
    // Without TLS the server runs in insecure mode and checks no credentials.
    isBroken: ({ credentials, options }) =>
      `${credentials?.user ?? ''}:${credentials?.password ?? ''}` === 'admin:changeit' &&
      options.get('tls')?.toLowerCase() !== 'false',
  },
  {
    variable: url,
    problem:
      'tlsVerifyCert has no effect with esdb://, and turns the check off with kurrentdb://: name the authority with tlsCAFile, or by NODE_EXTRA_CA_CERTS',
    isBroken: ({ options }) => options.has('tlsVerifyCert'),
  },
  {
    variable: 'DEBUG',
    problem: 'must not be set to esdb, kdb or *: the client of the event store would print its password',
    // Attack: a log that many may read. The client's debug output begins with the whole connection string.
    isBroken: ({ credentials, debug }) => credentials !== undefined && /(^|[\s,])(\*|esdb|kdb)/.test(debug),
  },
];

/** Returns the problems of the event store's connection string beyond its syntax. Never repeats a part of it. */
export function eventStoreProblems(env: Environment): readonly ConfigProblem[] {
  const text = env[url] ?? '';
  const options = new URLSearchParams(text.includes('?') ? text.slice(text.indexOf('?') + 1) : '');
  const connection = { credentials: credentialsOf(text), options, debug: env['DEBUG'] ?? '' };
  const broken = rules.filter(({ isBroken }) => isBroken(connection));
  return broken.length > 0 ? broken.map(({ variable, problem }) => ({ variable, problem })) : formProblems(text);
}

function formProblems(text: string): readonly ConfigProblem[] {
  try {
    if (text !== '') readConnectionString(text);
    return [];
  } catch (error) {
    return [{ variable: url, problem: (error as Error).message }];
  }
}

/** A connection string as it may be shown: without the password. */
export function withoutPassword(text: string): string {
  const credentials = credentialsOf(text);
  if (credentials === undefined) return text;
  const [, scheme = '', rest = ''] = /^([a-z+]+:\/\/)(.*)$/.exec(text) ?? [];
  const end = rest.indexOf('?') < 0 ? rest.length : rest.indexOf('?');
  return `${scheme}${credentials.user}:[secret]@${rest.slice(rest.lastIndexOf('@', end) + 1)}`;
}

const sasl = 'COUNTERSIGN_KAFKA_SASL_';

/** The three SASL settings are required together. */
export function saslProblems(env: Environment): readonly ConfigProblem[] {
  const names = [`${sasl}MECHANISM`, `${sasl}USERNAME`, `${sasl}PASSWORD_FILE`];
  const missing = names.filter((name) => (env[name] ?? '') === '');
  if (missing.length === 0 || missing.length === names.length) return [];
  return missing.map((variable) => ({ variable, problem: 'must be set along with the other settings of SASL' }));
}

/** Returns the problems of the sign-in provider's settings. */
export function oidcProblems(env: Environment): readonly ConfigProblem[] {
  try {
    readOidcConfig(env);
    return [];
  } catch (error) {
    if (error instanceof ConfigError) return error.problems;
    throw error;
  }
}

/** A receipt names the public URL, so that it is the same at each gateway. */
export function receiptProblems(env: Environment): readonly ConfigProblem[] {
  if ((env['COUNTERSIGN_RECEIPT_KEY_FILE'] ?? '') === '' || (env['COUNTERSIGN_PUBLIC_URL'] ?? '') !== '') return [];
  const problem = 'must be set, because receipts (COUNTERSIGN_RECEIPT_KEY_FILE) name it as their issuer';
  return [{ variable: 'COUNTERSIGN_PUBLIC_URL', problem }];
}
