import { resolve } from 'node:path';
import { ConfigError, isLoopback, readFileOf, readSecretOf, Secret } from '@countersign/runtime';
import type { ConfigProblem } from '@countersign/runtime';
import type { KeeperServerConfig } from '../role-config.js';
import type { KeeperConnection } from './keeper-client.js';

type Environment = Readonly<Record<string, string | undefined>>;

const tokenCharactersMin = 32;

const tokenFile = 'COUNTERSIGN_KEEPER_TOKEN_FILE';
const tokensFile = 'COUNTERSIGN_KEEPER_TOKENS_FILE';
const certFile = 'COUNTERSIGN_KEEPER_TLS_CERT_FILE';
const keyFile = 'COUNTERSIGN_KEEPER_TLS_KEY_FILE';

const isSet = (env: Environment, name: string): boolean => (env[name] ?? '') !== '';

const ofKeeper = ['COUNTERSIGN_KEYS_FOLDER', 'COUNTERSIGN_ROOT_KEY_FILE', 'COUNTERSIGN_ACCEPT_LOST_KEYS'];
const forKeeperAlone =
  'is for the keeper alone, because processes share no folder of keys: start the role keeper with it, unset it here, and set COUNTERSIGN_KEEPER_URL (docs/privacy.md)';

/** The problems between the settings of a process that borrows keys. */
export function borrowerProblems(env: Environment): readonly ConfigProblem[] {
  // A process that ignored them would record values in clear.
  const misplaced = ofKeeper.filter((name) => isSet(env, name));
  return [...misplaced.map((variable) => ({ variable, problem: forKeeperAlone })), ...connectionProblems(env)];
}

function connectionProblems(env: Environment): readonly ConfigProblem[] {
  const variable = 'COUNTERSIGN_KEEPER_URL';
  if (!isSet(env, variable)) {
    const lonely = [tokenFile, 'COUNTERSIGN_KEEPER_CA_FILE'].filter((name) => isSet(env, name));
    return lonely.map((name) => ({ variable: name, problem: `has no effect without ${variable}` }));
  }
  const problems: ConfigProblem[] = [];
  if (!isSet(env, tokenFile)) problems.push({ variable: tokenFile, problem: `must be set along with ${variable}` });
  const url = URL.parse(env[variable] ?? '');
  // Attack: a reader of the traffic has every key.
  if (url?.protocol === 'http:' && !isLoopback(url.hostname)) {
    problems.push({ variable, problem: 'must be https:// beyond this machine: keys are sent over it' });
  }
  return problems;
}

/** The problems between the settings of the keeper. */
export function keeperProblems(env: Environment): readonly ConfigProblem[] {
  return tlsProblems(env, { certFile, keyFile, what: 'keys are sent over TLS, with a certificate that you make' });
}

interface TlsVariables {
  readonly certFile: string;
  readonly keyFile: string;
  /** What is sent, as the end of a sentence. */
  readonly what: string;
}

/** The problems of a role that serves the other processes: beyond this machine it needs TLS. */
export function tlsProblems(env: Environment, { certFile, keyFile, what }: TlsVariables): readonly ConfigProblem[] {
  if (isSet(env, certFile) !== isSet(env, keyFile)) {
    const [missing, given] = isSet(env, certFile) ? [keyFile, certFile] : [certFile, keyFile];
    return [{ variable: missing, problem: `must be set along with ${given}` }];
  }
  const host = env['COUNTERSIGN_HOST'] ?? '';
  if (isSet(env, certFile) || host === '' || isLoopback(host)) return [];
  return [
    {
      variable: certFile,
      problem: `must be set unless COUNTERSIGN_HOST is 127.0.0.1: ${what}`,
    },
  ];
}

interface BorrowerValues {
  readonly COUNTERSIGN_KEEPER_URL?: string | undefined;
  readonly COUNTERSIGN_KEEPER_TOKEN_FILE?: string | undefined;
  readonly COUNTERSIGN_KEEPER_CA_FILE?: string | undefined;
}

/** Where a process borrows keys; null: nowhere. @throws ConfigError */
export function toConnection(values: BorrowerValues, folder: string): KeeperConnection | null {
  const { COUNTERSIGN_KEEPER_URL: url, COUNTERSIGN_KEEPER_CA_FILE: ca } = values;
  if (url === undefined) return null;
  return {
    url: new URL(url),
    token: readSecretOf(tokenFile, resolve(folder, values[tokenFile] ?? '')),
    ca: ca === undefined ? null : readFileOf('COUNTERSIGN_KEEPER_CA_FILE', resolve(folder, ca)),
  };
}

interface ServerValues {
  readonly COUNTERSIGN_KEEPER_PORT?: number | undefined;
  readonly COUNTERSIGN_KEEPER_TOKENS_FILE?: string | undefined;
  readonly COUNTERSIGN_KEEPER_TLS_CERT_FILE?: string | undefined;
  readonly COUNTERSIGN_KEEPER_TLS_KEY_FILE?: string | undefined;
  readonly COUNTERSIGN_KEEPER_LOAN_MS?: number | undefined;
}

/** The settings of the keeper; null for another role. @throws ConfigError */
export function toServer(values: ServerValues, folder: string): KeeperServerConfig | null {
  const { COUNTERSIGN_KEEPER_PORT: port, COUNTERSIGN_KEEPER_LOAN_MS: loanMs } = values;
  if (port === undefined || loanMs === undefined) return null;
  const cert = values[certFile];
  const tls =
    cert === undefined
      ? null
      : {
          cert: readFileOf(certFile, resolve(folder, cert)),
          key: readSecretOf(keyFile, resolve(folder, values[keyFile] ?? '')),
        };
  return { port, loanMs, tls, tokens: readTokens(tokensFile, resolve(folder, values[tokensFile] ?? '')) };
}

/** Reads the tokens that a role knows, one on each line. @throws ConfigError */
export function readTokens(variable: string, file: string): readonly Secret[] {
  const lines = readFileOf(variable, file).split('\n');
  const tokens = lines.map((line) => line.trim()).filter((line) => line !== '');
  if (tokens.length > 0 && tokens.every(({ length }) => length >= tokenCharactersMin)) {
    return tokens.map((token) => new Secret(token));
  }
  const problem = `needs one token on each line, of at least ${String(tokenCharactersMin)} characters: ${file}. Make one with: openssl rand -hex 32`;
  throw new ConfigError([{ variable, problem }]);
}
