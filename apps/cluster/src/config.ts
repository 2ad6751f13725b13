import { resolve } from 'node:path';
import { readOidcConfig } from '@countersign/gateway';
import type { OidcConfig } from '@countersign/gateway';
import { ConfigError, isLoopback, readConfig, readSecretOf, Secret } from '@countersign/runtime';
import type { ConfigProblem } from '@countersign/runtime';
import {
  browsedVariables,
  judgingVariables,
  processVariables,
  receiptVariables,
  answeringVariables,
  servingVariables,
  tellingVariables,
} from '@countersign/shell';
import { borrowerProblems, keeperProblems, toConnection, toServer } from './keeper/keeper-config.js';
import type { KafkaConfig, KeysConfig, RequestsConfig, Role, RoleConfig } from './role-config.js';
import { z } from 'zod';
import {
  eventStoreProblems,
  oidcProblems,
  receiptProblems,
  saslProblems,
  withoutPassword,
} from './connection-problems.js';
import { notaryProblems, notaryUserProblems, toNotaries } from './notary/notary-config.js';
import {
  askingNotaries,
  borrowing,
  consuming,
  eventStore,
  executing,
  kafka,
  keeping,
  notarizing,
  people,
  requests,
  senders,
  servingTree,
  signIn,
  topics,
} from './variables.js';

export { roles } from './role-config.js';
export type { KafkaConfig, KeysConfig, RequestsConfig, Role, RoleConfig } from './role-config.js';

type Environment = Readonly<Record<string, string | undefined>>;

/** Each role lists only the settings that it needs. */
const variablesOf = {
  gateway: {
    ...{ ...processVariables, ...eventStore, ...borrowing, ...judgingVariables },
    ...{ ...askingNotaries, ...servingTree },
    ...answeringVariables,
    ...{ ...senders, ...tellingVariables, ...servingVariables, ...browsedVariables, ...signIn, ...receiptVariables },
  },
  ledger: {
    ...processVariables,
    ...eventStore,
    ...borrowing,
    ...askingNotaries,
    ...kafka,
    ...consuming,
    ...judgingVariables,
    ...requests,
    ...servingVariables,
    ...people,
  },
  relay: { ...processVariables, ...eventStore, ...borrowing, ...kafka },
  projector: {
    ...{ ...processVariables, ...eventStore, ...borrowing, ...askingNotaries, ...kafka, ...consuming },
    COUNTERSIGN_POLICY: judgingVariables.COUNTERSIGN_POLICY,
    ...people,
  },
  resolver: {
    ...{ ...processVariables, ...eventStore, ...borrowing, ...askingNotaries, ...kafka, ...consuming },
    ...{ ...executing, ...receiptVariables },
    COUNTERSIGN_PUBLIC_URL: tellingVariables.COUNTERSIGN_PUBLIC_URL,
  },
  notifier: {
    ...{ ...processVariables, ...eventStore, ...borrowing, ...askingNotaries, ...kafka, ...consuming },
    ...tellingVariables,
    COUNTERSIGN_POLICY: judgingVariables.COUNTERSIGN_POLICY,
    ...people,
  },
  notary: { ...processVariables, ...eventStore, ...kafka, ...notarizing },
  keeper: { ...processVariables, ...eventStore, ...keeping },
} as const satisfies Record<Role, z.ZodRawShape>;

type Output<Shape extends z.ZodRawShape> = z.output<z.ZodObject<Shape>>;
type KafkaValues = Partial<Output<typeof kafka & typeof consuming>>;
type Values = Output<typeof processVariables & typeof eventStore> &
  KafkaValues &
  Partial<
    Output<
      typeof judgingVariables &
        typeof senders &
        typeof tellingVariables &
        typeof servingVariables &
        typeof browsedVariables &
        typeof signIn &
        typeof requests &
        typeof executing &
        typeof receiptVariables &
        typeof answeringVariables &
        typeof borrowing &
        typeof keeping &
        typeof notarizing &
        typeof askingNotaries &
        typeof servingTree
    >
  >;

/**
 * Reads the configuration of a role from the environment. Relative paths start at `folder`.
 * @throws ConfigError naming every wrong variable at once, without values.
 */
export function readRoleConfig(role: Role, env: Environment, folder: string = process.cwd()): RoleConfig {
  const values = readValues(variablesOf[role], env);
  const file: ToFile = (path) => (path === undefined ? null : resolve(folder, path));
  return {
    role,
    host: values.COUNTERSIGN_HOST,
    port: values.COUNTERSIGN_PORT,
    dataFolder: resolve(folder, values.COUNTERSIGN_DATA),
    logLevel: values.COUNTERSIGN_LOG_LEVEL,
    eventStoreUrl: new Secret(values.COUNTERSIGN_EVENTSTORE_URL),
    keys: toKeys(values, file),
    keeper: toConnection(values, folder),
    keeperServer: toServer(values, folder),
    ...toNotaries(values, folder, env),
    kafka: values.COUNTERSIGN_KAFKA_BROKERS === undefined ? null : toKafka(values, folder),
    policyFile: file(values.COUNTERSIGN_POLICY),
    shadowPolicyFile: file(values.COUNTERSIGN_POLICY_SHADOW),
    acceptedPolicy: values.COUNTERSIGN_ACCEPT_UNREADABLE_POLICY ?? null,
    toolsFile: file(values.COUNTERSIGN_TOOLS),
    tokensFile: file(values.COUNTERSIGN_TOKENS_FILE),
    channelsFile: file(values.COUNTERSIGN_CHANNELS),
    requests: values.COUNTERSIGN_REQUESTS_TENANT === undefined ? null : toRequests(values, file),
    leaseMs: values.COUNTERSIGN_RESOLVER_LEASE_MS ?? null,
    recordsAddresses: values.COUNTERSIGN_RECORD_ADDRESSES === 'true',
    ...toReceipts(values, file),
    ...toServing(values),
    oidc: role === 'gateway' ? readOidcConfig(env) : null,
    issuer: values.COUNTERSIGN_OIDC_ISSUER === undefined ? null : new URL(values.COUNTERSIGN_OIDC_ISSUER),
  };
}

type ToFile = (path: string | undefined) => string | null;

function toServing(
  values: Values,
): Pick<RoleConfig, 'publicUrl' | 'requestsPerSecond' | 'corsOrigins' | 'frameAncestors'> {
  return {
    publicUrl: values.COUNTERSIGN_PUBLIC_URL === undefined ? null : new URL(values.COUNTERSIGN_PUBLIC_URL),
    requestsPerSecond: values.COUNTERSIGN_REQUESTS_PER_SECOND ?? null,
    corsOrigins: values.COUNTERSIGN_CORS_ORIGINS ?? [],
    frameAncestors: values.COUNTERSIGN_FRAME_ANCESTORS ?? [],
  };
}

function toReceipts(values: Values, file: ToFile): Pick<RoleConfig, 'receiptKeyFile' | 'receiptNames'> {
  const receiptNames = values.COUNTERSIGN_RECEIPT_NAMES === 'true';
  return { receiptKeyFile: file(values.COUNTERSIGN_RECEIPT_KEY_FILE), receiptNames };
}

function toKeys(values: Values, file: ToFile): KeysConfig | null {
  const folder = file(values.COUNTERSIGN_KEYS_FOLDER);
  if (folder === null) return null;
  return {
    folder,
    rootKeyFile: file(values.COUNTERSIGN_ROOT_KEY_FILE),
    acceptLostKeys: values.COUNTERSIGN_ACCEPT_LOST_KEYS === 'yes',
  };
}

/** The settings of those who make and look at topics. @throws ConfigError */
export function readTopicsConfig(
  env: Environment,
  folder: string = process.cwd(),
): { readonly kafka: KafkaConfig; readonly partitions: number; readonly replication: number } {
  const values = readConfigWith(z.object({ ...kafka, ...topics }), env, saslProblems(env));
  return {
    kafka: toKafka(values, folder),
    partitions: values.COUNTERSIGN_TOPIC_PARTITIONS,
    replication: values.COUNTERSIGN_TOPIC_REPLICATION,
  };
}

/** The effective settings of a role by variable, as they may be shown: no password among them. @throws ConfigError */
export function printableRoleConfig(role: Role, env: Environment): Readonly<Record<string, unknown>> {
  const { oidc } = readRoleConfig(role, env);
  const values = { ...readValues(variablesOf[role], env), ...(oidc === null ? {} : printableOidc(oidc)) };
  return Object.fromEntries(
    Object.keys(variablesOf[role]).map((name) => {
      const value = values[name as keyof Values] ?? null;
      return [name, name === 'COUNTERSIGN_EVENTSTORE_URL' ? withoutPassword(String(value)) : value];
    }),
  );
}

/** With the defaults; of the secret the file alone. */
function printableOidc({ rolesClaim, groupsClaim, tenant }: OidcConfig) {
  return {
    COUNTERSIGN_OIDC_ROLES_CLAIM: rolesClaim,
    COUNTERSIGN_OIDC_GROUPS_CLAIM: groupsClaim,
    COUNTERSIGN_OIDC_TENANT: tenant,
  };
}

function readValues(shape: z.ZodRawShape, env: Environment): Values {
  const ofKafka = 'COUNTERSIGN_KAFKA_BROKERS' in shape ? saslProblems(env) : [];
  const ofSignIn = 'COUNTERSIGN_OIDC_CLIENT_ID' in shape ? oidcProblems(env) : [];
  const ofKeys = 'COUNTERSIGN_KEEPER_TOKENS_FILE' in shape ? keeperProblems(env) : borrowerProblems(env);
  const ofReceipts = 'COUNTERSIGN_RECEIPT_KEY_FILE' in shape ? receiptProblems(env) : [];
  const ofNotary = 'COUNTERSIGN_NOTARY_PORT' in shape ? notaryProblems(env) : [];
  const ofNotaries = 'COUNTERSIGN_NOTARY_URL' in shape ? notaryUserProblems(env) : [];
  const problems = [
    ...eventStoreProblems(env),
    ...ofNotary,
    ...ofNotaries,
    ...ofKeys,
    ...ofKafka,
    ...ofSignIn,
    ...ofReceipts,
  ];
  return readConfigWith(z.object(shape), env, problems) as Values;
}

/** Reports the problems of single variables and those between variables together. */
function readConfigWith<T extends z.ZodObject>(
  schema: T,
  env: Environment,
  more: readonly ConfigProblem[],
): z.infer<T> {
  try {
    const values = readConfig(schema, env);
    if (more.length === 0) return values;
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    const { problems } = error;
    const others = more.filter((other) => !problems.some(({ variable }) => variable === other.variable));
    throw new ConfigError([...problems, ...others]);
  }
  throw new ConfigError(more);
}

function toKafka(values: KafkaValues, folder: string): KafkaConfig {
  const mechanism = values.COUNTERSIGN_KAFKA_SASL_MECHANISM;
  const passwordFile = 'COUNTERSIGN_KAFKA_SASL_PASSWORD_FILE';
  return {
    brokers: values.COUNTERSIGN_KAFKA_BROKERS ?? [],
    ssl: values.COUNTERSIGN_KAFKA_SSL === 'true',
    sasl:
      mechanism === undefined
        ? null
        : {
            mechanism,
            username: values.COUNTERSIGN_KAFKA_SASL_USERNAME ?? '',
            password: readSecretOf(passwordFile, resolve(folder, values[passwordFile] ?? '')),
          },
    topicPrefix: values.COUNTERSIGN_TOPIC_PREFIX ?? '',
    sessionTimeoutMs: values.COUNTERSIGN_KAFKA_SESSION_TIMEOUT_MS ?? null,
  };
}

function toRequests(values: Values, file: ToFile): RequestsConfig {
  const keysFile = file(values.COUNTERSIGN_REQUESTS_KEYS);
  return {
    tenant: values.COUNTERSIGN_REQUESTS_TENANT ?? '',
    principal: values.COUNTERSIGN_REQUESTS_PRINCIPAL ?? '',
    unsigned: values.COUNTERSIGN_REQUESTS_UNSIGNED ?? unsignedDefault(values, keysFile),
    keysFile,
  };
}

/**
 * Unsigned requests are for one machine only: on other brokers any producer could send requests in the name of every
 * agent.
 */
function unsignedDefault(
  { COUNTERSIGN_KAFKA_BROKERS: brokers = [] }: Values,
  keysFile: string | null,
): 'allow' | 'refuse' {
  return keysFile === null &&
    brokers.length > 0 &&
    brokers.every((broker) => isLoopback(broker.slice(0, broker.lastIndexOf(':'))))
    ? 'allow'
    : 'refuse';
}
