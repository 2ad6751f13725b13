import { resolve } from 'node:path';
import { isLoopback, readFileOf, readSecretOf } from '@countersign/runtime';
import type { ConfigProblem } from '@countersign/runtime';
import { loadSinks } from '@countersign/channels';
import { readPreviousLogKey, readSignerProgram, readTimestampSettings, readWitnesses } from '@countersign/notary';
import type { NotaryServerConfig, RoleConfig } from '../role-config.js';
import { readTokens, tlsProblems } from '../keeper/keeper-config.js';
import type { NotaryConnection } from './notary-client.js';

type Environment = Readonly<Record<string, string | undefined>>;

const tokenFile = 'COUNTERSIGN_NOTARY_TOKEN_FILE';
const certFile = 'COUNTERSIGN_NOTARY_TLS_CERT_FILE';
const keyFile = 'COUNTERSIGN_NOTARY_TLS_KEY_FILE';
const caFile = 'COUNTERSIGN_NOTARY_CA_FILE';
const urlVariable = 'COUNTERSIGN_NOTARY_URL';

const isSet = (env: Environment, name: string): boolean => (env[name] ?? '') !== '';

/** The problems between the settings of a notary. */
export function notaryProblems(env: Environment): readonly ConfigProblem[] {
  const tls = tlsProblems(env, {
    certFile,
    keyFile,
    what: 'a token is sent over TLS, with a certificate that you make',
  });
  return [...tls, ...signingProblems(env)];
}

/** The problems between the settings of a process that asks notaries. */
export function notaryUserProblems(env: Environment): readonly ConfigProblem[] {
  if (!isSet(env, urlVariable)) {
    const lonely = [tokenFile, caFile].filter((name) => isSet(env, name));
    return lonely.map((name) => ({ variable: name, problem: `has no effect without ${urlVariable}` }));
  }
  const problems: ConfigProblem[] = [];
  if (!isSet(env, tokenFile)) problems.push({ variable: tokenFile, problem: `must be set along with ${urlVariable}` });
  const urls = (env[urlVariable] ?? '').split(',').map((text) => URL.parse(text.trim()));
  // Attack: a reader of the traffic has the token.
  if (urls.some((url) => url?.protocol === 'http:' && !isLoopback(url.hostname)))
    problems.push({ variable: urlVariable, problem: 'must be https:// beyond this machine: a token is sent over it' });
  return problems;
}

/** Exactly one of them signs. */
function signingProblems(env: Environment): readonly ConfigProblem[] {
  const [variable, other] = ['COUNTERSIGN_LOG_KEY_FILE', 'COUNTERSIGN_LOG_SIGNER'];
  if (isSet(env, variable) !== isSet(env, other)) return [];
  const problem = isSet(env, variable)
    ? `has no effect together with ${other}: unset one of them`
    : `must be set, the same for every notary, or ${other}`;
  return [{ variable, problem }];
}

interface NotaryValues {
  readonly COUNTERSIGN_NOTARY_PORT?: number | undefined;
  readonly COUNTERSIGN_NOTARY_TOKEN_FILE?: string | undefined;
  readonly COUNTERSIGN_NOTARY_TLS_CERT_FILE?: string | undefined;
  readonly COUNTERSIGN_NOTARY_TLS_KEY_FILE?: string | undefined;
  readonly COUNTERSIGN_LOG_KEY_FILE?: string | undefined;
  readonly COUNTERSIGN_LOG_SIGNER?: string | undefined;
  readonly COUNTERSIGN_LOG_KEY_PREVIOUS?: string | undefined;
  readonly COUNTERSIGN_LOG_ORIGIN?: string | undefined;
  readonly COUNTERSIGN_LOG_SINKS?: string | undefined;
  readonly COUNTERSIGN_WITNESSES?: string | undefined;
  readonly COUNTERSIGN_WITNESS_PRIVATE?: 'true' | undefined;
  readonly COUNTERSIGN_TSA_URL?: string | undefined;
  readonly COUNTERSIGN_TSA_CA?: string | undefined;
  readonly COUNTERSIGN_TSA_PRIVATE?: 'true' | undefined;
  readonly COUNTERSIGN_TSA_INTERVAL_MS?: number | undefined;
  readonly COUNTERSIGN_NOTARY_URL?: readonly string[] | undefined;
  readonly COUNTERSIGN_NOTARY_CA_FILE?: string | undefined;
  readonly COUNTERSIGN_LOG_PUBLIC?: 'no' | 'hashes' | undefined;
}

/** The parts of a role's settings that concern notaries. @throws ConfigError */
export function toNotaries(
  values: NotaryValues,
  folder: string,
  env: Environment,
): Pick<RoleConfig, 'notary' | 'notaries' | 'logPublic'> {
  return {
    notary: toNotaryServer(values, folder, env),
    notaries: toNotaryConnection(values, folder),
    logPublic: values.COUNTERSIGN_LOG_PUBLIC ?? 'no',
  };
}

/** The settings of the notary; null for another role. @throws ConfigError */
function toNotaryServer(values: NotaryValues, folder: string, env: Environment): NotaryServerConfig | null {
  const {
    COUNTERSIGN_NOTARY_PORT: port,
    COUNTERSIGN_LOG_KEY_FILE: logKeyFile,
    COUNTERSIGN_WITNESSES: witnesses,
  } = values;
  if (port === undefined) return null;
  const [cert, key] = [values[certFile], values[keyFile]];
  return {
    port,
    logKeyFile: logKeyFile === undefined ? null : resolve(folder, logKeyFile),
    logSigner: readSignerProgram(values.COUNTERSIGN_LOG_SIGNER ?? '') ?? null,
    previousLogKey: readPreviousLogKey(values.COUNTERSIGN_LOG_KEY_PREVIOUS, folder),
    origin: values.COUNTERSIGN_LOG_ORIGIN ?? null,
    sinks: loadSinks(values.COUNTERSIGN_LOG_SINKS, env, folder),
    witnesses:
      witnesses === undefined
        ? null
        : readWitnesses(resolve(folder, witnesses), values.COUNTERSIGN_WITNESS_PRIVATE === 'true'),
    timestamps: readTimestampSettings(values, folder),
    files: filesOf(values, folder),
    tokens: readTokens(tokenFile, resolve(folder, values[tokenFile] ?? '')),
    tls:
      cert === undefined || key === undefined
        ? null
        : { cert: readFileOf(certFile, resolve(folder, cert)), key: readSecretOf(keyFile, resolve(folder, key)) },
  };
}

/** A text in place of a file of sinks is the path of no file, and has no digest. */
function filesOf(values: NotaryValues, folder: string): NotaryServerConfig['files'] {
  const toFile = (path: string | undefined): string | null => (path === undefined ? null : resolve(folder, path));
  return { sinks: toFile(values.COUNTERSIGN_LOG_SINKS), witnesses: toFile(values.COUNTERSIGN_WITNESSES) };
}

/** Where a process asks the notaries; null: nowhere. @throws ConfigError */
function toNotaryConnection(values: NotaryValues, folder: string): NotaryConnection | null {
  const { COUNTERSIGN_NOTARY_URL: urls, COUNTERSIGN_NOTARY_CA_FILE: ca } = values;
  if (urls === undefined) return null;
  return {
    urls: urls.map((url) => new URL(url)),
    token: readSecretOf(tokenFile, resolve(folder, values[tokenFile] ?? '')),
    ca: ca === undefined ? null : readFileOf(caFile, resolve(folder, ca)),
  };
}
