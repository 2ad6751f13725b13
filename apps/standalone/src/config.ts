import { resolve } from 'node:path';
import { loadSinks } from '@countersign/channels';
import type { SinkConfig } from '@countersign/channels';
import { readOidcConfig } from '@countersign/gateway';
import type { OidcConfig } from '@countersign/gateway';
import { readPreviousLogKey, readSignerProgram, readTimestampSettings, readWitnesses } from '@countersign/notary';
import type { PreviousLogKey, SignerProgram, TimestampSettings, WitnessSettings } from '@countersign/notary';
import { ConfigError, readConfig } from '@countersign/runtime';
import type { LogLevel } from '@countersign/runtime';
import {
  browsedVariables,
  judgingVariables,
  logOriginVariable,
  logPublicVariable,
  answeringVariables,
  logSignerVariable,
  processVariables,
  receiptVariables,
  servingVariables,
  tellingVariables,
  timestampVariables,
} from '@countersign/shell';
import type { RuntimePorts } from '@countersign/shell';
import { z } from 'zod';

const schema = z.object({
  ...processVariables,
  ...judgingVariables,
  ...tellingVariables,
  ...servingVariables,
  ...browsedVariables,
  ...receiptVariables,
  COUNTERSIGN_TOKENS_FILE: z.string().optional(),
  COUNTERSIGN_ACCEPT_LOG_END: z
    .string()
    .regex(/^[0-9]{1,15}$/, 'must be the position that the log ends at, a whole number')
    .transform(Number)
    .optional(),
  COUNTERSIGN_ROOT_KEY_FILE: z.string().optional(),
  COUNTERSIGN_LOG_KEY_FILE: z.string().optional(),
  COUNTERSIGN_LOG_KEY_PREVIOUS: z.string().optional(),
  COUNTERSIGN_LOG_ORIGIN: logOriginVariable.optional(),
  COUNTERSIGN_LOG_PUBLIC: logPublicVariable,
  ...answeringVariables,
  COUNTERSIGN_LOG_SIGNER: logSignerVariable,
  COUNTERSIGN_LOG_SINKS: z.string().optional(),
  COUNTERSIGN_WITNESSES: z.string().optional(),
  COUNTERSIGN_WITNESS_PRIVATE: z.literal('true', 'must be `true`, or unset').optional(),
  ...timestampVariables,
  COUNTERSIGN_ACCEPT_LOST_KEYS: z.literal('yes', 'must be `yes`, or unset').optional(),
});

/** The settings of standalone; every path is absolute. */
export interface StandaloneConfig {
  readonly host: string;
  /** 0: any free port. */
  readonly port: number;
  readonly dataFolder: string;
  readonly policyFile: string | null;
  readonly shadowPolicyFile: string | null;
  /** The activation of a policy that cannot be read and is given up, by its event id; null: none. */
  readonly acceptedPolicy: string | null;
  /** The operator's own file; null: `tokens.json` in the data folder, created at the first start. */
  readonly tokensFile: string | null;
  readonly toolsFile: string | null;
  /** The channels file; null: only the inbox. */
  readonly channelsFile: string | null;
  /** The public URL; null: the address that it listens on. */
  readonly publicUrl: URL | null;
  /** The origins whose pages may call the API. */
  readonly corsOrigins: readonly string[];
  /** The origins whose pages may show the inbox in a frame. */
  readonly frameAncestors: readonly string[];
  /** The OIDC provider for sign-in, in addition to tokens. */
  readonly oidc: OidcConfig | null;
  /** Per principal. */
  readonly requestsPerSecond: number;
  /** The end of a log that is accepted although other files know later events; null: such a log is refused. */
  readonly acceptedLogEnd: number | null;
  /** The operator's own root key; null: `root.key` in the data folder, created at the first start. */
  readonly rootKeyFile: string | null;
  /** The operator's own log key, which signs checkpoints; null: `log.key` in the data folder, created at the first start. */
  readonly logKeyFile: string | null;
  /** A program that signs checkpoints instead of the log key; null: none. */
  readonly logSigner: SignerProgram['command'] | null;
  /** The log key that signed before, which the log key replaces; null: there is none. */
  readonly previousLogKey: PreviousLogKey | null;
  /** The origin of the log in its checkpoints; null: derived from its first event. */
  readonly logOrigin: string | null;
  /** Where the checkpoints and the tiles of the log are pushed. */
  readonly logSinks: readonly SinkConfig[];
  /** The witnesses that cosign the checkpoints; null: there are none. */
  readonly witnesses: WitnessSettings | null;
  /** The authority that stamps the checkpoints; null: there is none. */
  readonly timestamps: TimestampSettings | null;
  /** What of the tree over the log is open without a token. */
  readonly logPublic: 'no' | 'hashes';
  /** Each person's answer records the address that it came from. */
  readonly recordsAddresses: boolean;
  /** The operator's own keys of receipts; null: they derive from the log key. */
  readonly receiptKeyFile: string | null;
  /** Receipts name the people who agreed. */
  readonly receiptNames: boolean;
  /** Starts although the log has values whose keys are lost. */
  readonly acceptLostKeys: boolean;
  readonly logLevel: LogLevel;
}

/** The dependencies of standalone. */
export interface StandalonePorts extends RuntimePorts {
  /** Has the secrets that the tools file and the channels file name. Default: the environment of the process. */
  readonly env?: Readonly<Record<string, string | undefined>> | undefined;
}

/**
 * Reads the configuration from the environment. Relative paths start at `folder`.
 * @throws ConfigError naming every wrong variable at once.
 */
export function readStandaloneConfig(
  env: Readonly<Record<string, string | undefined>>,
  folder: string = process.cwd(),
): StandaloneConfig {
  const values = readConfig(schema, env);
  const logSinks = loadSinks(values.COUNTERSIGN_LOG_SINKS, env, folder);
  if (logSinks.some(({ type }) => type === 'kafka')) {
    const problem = '{ kafka: true } is for a cluster: standalone has no Kafka';
    throw new ConfigError([{ variable: 'COUNTERSIGN_LOG_SINKS', problem }]);
  }
  const file = (path: string | undefined): string | null => (path === undefined ? null : resolve(folder, path));
  const witnesses = file(values.COUNTERSIGN_WITNESSES);
  return {
    host: values.COUNTERSIGN_HOST,
    port: values.COUNTERSIGN_PORT,
    dataFolder: resolve(folder, values.COUNTERSIGN_DATA),
    policyFile: file(values.COUNTERSIGN_POLICY),
    shadowPolicyFile: file(values.COUNTERSIGN_POLICY_SHADOW),
    acceptedPolicy: values.COUNTERSIGN_ACCEPT_UNREADABLE_POLICY ?? null,
    tokensFile: file(values.COUNTERSIGN_TOKENS_FILE),
    toolsFile: file(values.COUNTERSIGN_TOOLS),
    channelsFile: file(values.COUNTERSIGN_CHANNELS),
    publicUrl: values.COUNTERSIGN_PUBLIC_URL === undefined ? null : new URL(values.COUNTERSIGN_PUBLIC_URL),
    corsOrigins: values.COUNTERSIGN_CORS_ORIGINS,
    frameAncestors: values.COUNTERSIGN_FRAME_ANCESTORS,
    oidc: readOidcConfig(env),
    requestsPerSecond: values.COUNTERSIGN_REQUESTS_PER_SECOND,
    acceptedLogEnd: values.COUNTERSIGN_ACCEPT_LOG_END ?? null,
    rootKeyFile: file(values.COUNTERSIGN_ROOT_KEY_FILE),
    logKeyFile: file(values.COUNTERSIGN_LOG_KEY_FILE),
    logSigner: readSignerProgram(values.COUNTERSIGN_LOG_SIGNER ?? '') ?? null,
    previousLogKey: readPreviousLogKey(values.COUNTERSIGN_LOG_KEY_PREVIOUS, folder),
    logOrigin: values.COUNTERSIGN_LOG_ORIGIN ?? null,
    logPublic: values.COUNTERSIGN_LOG_PUBLIC,
    recordsAddresses: values.COUNTERSIGN_RECORD_ADDRESSES === 'true',
    logSinks,
    witnesses: witnesses === null ? null : readWitnesses(witnesses, values.COUNTERSIGN_WITNESS_PRIVATE === 'true'),
    timestamps: readTimestampSettings(values, folder),
    receiptKeyFile: file(values.COUNTERSIGN_RECEIPT_KEY_FILE),
    receiptNames: values.COUNTERSIGN_RECEIPT_NAMES === 'true',
    acceptLostKeys: values.COUNTERSIGN_ACCEPT_LOST_KEYS === 'yes',
    logLevel: values.COUNTERSIGN_LOG_LEVEL,
  };
}
