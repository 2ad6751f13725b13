import { principalSchema } from '@countersign/contracts';
import {
  logOriginVariable,
  logPublicVariable,
  logSignerVariable,
  portVariable,
  timestampVariables,
} from '@countersign/shell';
import { z } from 'zod';

// The variables that the cluster alone has, by what needs them. Values stay what a person wrote until `config.ts` makes sense of them.

const rangeOf = (least: number, most: number): string => `must be from ${String(least)} to ${String(most)}`;

const count = (most: number): z.ZodType<number, string> =>
  z
    .string()
    .regex(/^[0-9]{1,6}$/, 'must be a whole number')
    .transform(Number)
    .pipe(z.int().min(1, rangeOf(1, most)).max(most, rangeOf(1, most)));

const duration = (leastMs: number, mostMs: number): z.ZodType<number, string> =>
  z
    .string()
    .regex(/^[0-9]{1,8}$/, 'must be a whole number of milliseconds')
    .transform(Number)
    .pipe(z.int().min(leastMs, rangeOf(leastMs, mostMs)).max(mostMs, rangeOf(leastMs, mostMs)));

export const eventStore = {
  COUNTERSIGN_EVENTSTORE_URL: z
    .string('esdb://… or kurrentdb://…, the address of EventStoreDB or KurrentDB')
    .regex(
      /^(esdb|kurrentdb)(\+discover)?:\/\/[^/?]+/,
      'must begin with esdb://, esdb+discover://, kurrentdb:// or kurrentdb+discover:// and name a host',
    ),
};

/** The keeper, which lends the keys of sensitive values. */
export const borrowing = {
  COUNTERSIGN_KEEPER_URL: z.url({ protocol: /^https?$/, error: 'must be the https:// URL of the keeper' }).optional(),
  COUNTERSIGN_KEEPER_TOKEN_FILE: z.string().optional(),
  COUNTERSIGN_KEEPER_CA_FILE: z.string().optional(),
};

/** The keeper, which lends the keys of its folder. */
export const keeping = {
  COUNTERSIGN_KEYS_FOLDER: z.string('the folder of the keys'),
  COUNTERSIGN_ROOT_KEY_FILE: z.string().optional(),
  COUNTERSIGN_ACCEPT_LOST_KEYS: z.literal('yes', 'must be `yes`, or unset').optional(),
  COUNTERSIGN_KEEPER_PORT: portVariable(7443),
  COUNTERSIGN_KEEPER_TOKENS_FILE: z.string('a file with the tokens of the processes, one on each line'),
  COUNTERSIGN_KEEPER_TLS_CERT_FILE: z.string().optional(),
  COUNTERSIGN_KEEPER_TLS_KEY_FILE: z.string().optional(),
  /** How long a process may use keys after it asked last. */
  COUNTERSIGN_KEEPER_LOAN_MS: duration(1_000, 600_000).default(60_000),
};

/** The notary, which signs checkpoints of the log. */
export const notarizing = {
  COUNTERSIGN_LOG_KEY_FILE: z.string().optional(),
  COUNTERSIGN_LOG_SIGNER: logSignerVariable,
  COUNTERSIGN_LOG_KEY_PREVIOUS: z.string().optional(),
  COUNTERSIGN_LOG_ORIGIN: logOriginVariable.optional(),
  COUNTERSIGN_LOG_SINKS: z.string().optional(),
  COUNTERSIGN_WITNESSES: z.string().optional(),
  COUNTERSIGN_WITNESS_PRIVATE: z.literal('true', 'must be `true`, or unset').optional(),
  ...timestampVariables,
  COUNTERSIGN_NOTARY_PORT: portVariable(7444),
  COUNTERSIGN_NOTARY_TOKEN_FILE: z.string('a file with the tokens of the processes that ask, one on each line'),
  COUNTERSIGN_NOTARY_TLS_CERT_FILE: z.string().optional(),
  COUNTERSIGN_NOTARY_TLS_KEY_FILE: z.string().optional(),
};

/** A process that asks the notaries. */
export const askingNotaries = {
  COUNTERSIGN_NOTARY_URL: z
    .string()
    .transform((text) => text.split(',').map((url) => url.trim()))
    .pipe(
      z.array(z.url({ protocol: /^https?$/, error: 'must be the https:// URLs of the notaries, separated by commas' })),
    )
    .optional(),
  COUNTERSIGN_NOTARY_TOKEN_FILE: z.string().optional(),
  COUNTERSIGN_NOTARY_CA_FILE: z.string().optional(),
};

/** A gateway, which serves the tree over the log. */
export const servingTree = { COUNTERSIGN_LOG_PUBLIC: logPublicVariable };

/** The brokers, and the names of the topics. */
export const kafka = {
  COUNTERSIGN_KAFKA_BROKERS: z
    .string('host:port of one or more brokers, with commas in between')
    .transform((text) => text.split(',').map((broker) => broker.trim()))
    .pipe(z.array(z.string().regex(/^[^\s:/]+:[0-9]{1,5}$|^\[[0-9a-fA-F:]+\]:[0-9]{1,5}$/, 'must be host:port,…'))),
  COUNTERSIGN_KAFKA_SSL: z.enum(['true', 'false'], 'must be true or false').default('false'),
  COUNTERSIGN_KAFKA_SASL_MECHANISM: z
    .enum(['plain', 'scram-sha-256', 'scram-sha-512'], 'must be plain, scram-sha-256 or scram-sha-512')
    .optional(),
  COUNTERSIGN_KAFKA_SASL_USERNAME: z.string().optional(),
  COUNTERSIGN_KAFKA_SASL_PASSWORD_FILE: z.string().optional(),
  COUNTERSIGN_TOPIC_PREFIX: z
    .string()
    .regex(/^[a-zA-Z0-9._-]{1,200}$/, 'may have letters, digits, ".", "_" and "-"')
    .default('countersign'),
};

/** Members of consumer groups. */
export const consuming = {
  /** A member without a heartbeat for this long loses its partitions to another member. */
  COUNTERSIGN_KAFKA_SESSION_TIMEOUT_MS: duration(1_000, 600_000).default(30_000),
};

/** The settings of created topics. */
export const topics = {
  COUNTERSIGN_TOPIC_PARTITIONS: count(10_000).default(12),
  COUNTERSIGN_TOPIC_REPLICATION: count(100).default(3),
};

export const executing = {
  COUNTERSIGN_TOOLS: z.string().optional(),
  /** How long a claim lasts without a renewal. */
  COUNTERSIGN_RESOLVER_LEASE_MS: duration(1_000, 3_600_000).default(60_000),
};

/** Authentication of HTTP requests. Several gateways share their tokens, so none creates its own. */
export const senders = {
  COUNTERSIGN_TOKENS_FILE: z.string('a tokens file, the same for every gateway'),
};

/** For a role that authenticates no HTTP request and still has to know who is an approver. */
export const people = {
  COUNTERSIGN_TOKENS_FILE: senders.COUNTERSIGN_TOKENS_FILE.optional(),
  COUNTERSIGN_OIDC_ISSUER: z.url({ protocol: /^https?$/, error: 'must be the URL of the issuer' }).optional(),
};

/** Printed alone: the gateway's app reads and judges them itself. */
export const signIn = {
  COUNTERSIGN_OIDC_ISSUER: z.string().optional(),
  COUNTERSIGN_OIDC_CLIENT_ID: z.string().optional(),
  COUNTERSIGN_OIDC_CLIENT_SECRET_FILE: z.string().optional(),
  COUNTERSIGN_OIDC_AUDIENCE: z.string().optional(),
  COUNTERSIGN_OIDC_ROLES_CLAIM: z.string().optional(),
  COUNTERSIGN_OIDC_GROUPS_CLAIM: z.string().optional(),
  COUNTERSIGN_OIDC_TENANT: z.string().optional(),
};

const atMost256 = 'must have at most 256 characters';

/** The consumer of the request queue. */
export const requests = {
  COUNTERSIGN_REQUESTS_TENANT: z.string().max(256, atMost256).default('default'),
  COUNTERSIGN_REQUESTS_PRINCIPAL: z.string().max(256, atMost256).pipe(principalSchema).default('kafka'),
  COUNTERSIGN_REQUESTS_UNSIGNED: z.enum(['allow', 'refuse'], 'must be allow or refuse').optional(),
  COUNTERSIGN_REQUESTS_KEYS: z.string().optional(),
};
