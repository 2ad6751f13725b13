import type { SinkConfig } from '@countersign/channels';
import type { OidcConfig } from '@countersign/gateway';
import type { PreviousLogKey, SignerProgram, TimestampSettings, WitnessSettings } from '@countersign/notary';
import type { LogLevel, Secret } from '@countersign/runtime';
import type { NotaryConnection } from './notary/notary-client.js';
import type { KeeperConnection } from './keeper/keeper-client.js';

/** The work of one process of the cluster. */
export const roles = ['gateway', 'ledger', 'relay', 'projector', 'resolver', 'notifier', 'notary', 'keeper'] as const;

export type Role = (typeof roles)[number];

/** The brokers' address and security, and the names of our topics. */
export interface KafkaConfig {
  readonly brokers: readonly string[];
  readonly ssl: boolean;
  readonly sasl: {
    readonly mechanism: 'plain' | 'scram-sha-256' | 'scram-sha-512';
    readonly username: string;
    readonly password: Secret;
  } | null;
  readonly topicPrefix: string;
  /** Only for roles with consumer groups; null for the others. */
  readonly sessionTimeoutMs: number | null;
}

/** The folder of the keeper's keys. */
export interface KeysConfig {
  readonly folder: string;
  /** The operator's own root key; null: `root.key` in the folder. */
  readonly rootKeyFile: string | null;
  /** Starts although the log has values under keys that are lost. */
  readonly acceptLostKeys: boolean;
}

/** How the keeper serves the keys of its folder. */
export interface KeeperServerConfig {
  /** 0: any free port. */
  readonly port: number;
  /** How long a process may use keys after it asked last. */
  readonly loanMs: number;
  /** Null: plain HTTP, on this machine alone. */
  readonly tls: { readonly cert: string; readonly key: Secret } | null;
  readonly tokens: readonly Secret[];
}

/** How a notary serves the gateways, and with which key it signs. */
export interface NotaryServerConfig {
  /** 0: any free port. */
  readonly port: number;
  /** Null: plain HTTP, on this machine alone. */
  readonly tls: { readonly cert: string; readonly key: Secret } | null;
  readonly tokens: readonly Secret[];
  /** The log key, or a program that signs. */
  readonly logKeyFile: string | null;
  readonly logSigner: SignerProgram['command'] | null;
  /** The log key that this one replaces; null: there is none. */
  readonly previousLogKey: PreviousLogKey | null;
  /** The origin of the log in its checkpoints; null: derived from its first event. */
  readonly origin: string | null;
  /** Where the checkpoints and the tiles of the log are pushed. */
  readonly sinks: readonly SinkConfig[];
  /** The witnesses that cosign the checkpoints; null: there are none. */
  readonly witnesses: WitnessSettings | null;
  /** The authority that stamps the checkpoints; null: there is none. */
  readonly timestamps: TimestampSettings | null;
  /** The files of sinks and witnesses, whose digests are recorded. Text in place of a file is no file. */
  readonly files: Readonly<Record<'sinks' | 'witnesses', string | null>>;
}

/** The senders of requests on Kafka. */
export interface RequestsConfig {
  readonly tenant: string;
  readonly principal: string;
  readonly unsigned: 'allow' | 'refuse';
  readonly keysFile: string | null;
}

/** The settings of one process of the cluster. Every path is absolute. Parts that its role does not need are null. */
export interface RoleConfig {
  readonly role: Role;
  readonly host: string;
  /** 0: any free port. */
  readonly port: number;
  readonly dataFolder: string;
  readonly logLevel: LogLevel;
  readonly eventStoreUrl: Secret;
  /** Lends the keys of sensitive values. Null: values are recorded in clear. */
  readonly keeper: KeeperConnection | null;
  /** For the keeper itself. */
  readonly keys: KeysConfig | null;
  readonly keeperServer: KeeperServerConfig | null;
  /** For a notary itself. */
  readonly notary: NotaryServerConfig | null;
  /** The notaries that a process asks. Null: none. */
  readonly notaries: NotaryConnection | null;
  /** For a gateway: what of the tree over the log is open without a token. */
  readonly logPublic: 'no' | 'hashes';
  /** For a gateway: each person's answer records the address that it came from. */
  readonly recordsAddresses: boolean;
  readonly kafka: KafkaConfig | null;
  readonly policyFile: string | null;
  readonly shadowPolicyFile: string | null;
  /** Gateway and ledger: the activation of a policy that cannot be read and is given up, by its event id; null: none. */
  readonly acceptedPolicy: string | null;
  readonly toolsFile: string | null;
  readonly tokensFile: string | null;
  readonly channelsFile: string | null;
  readonly requests: RequestsConfig | null;
  /** For the claims of this process. */
  readonly leaseMs: number | null;
  /** The keys of receipts; null: claims have none. */
  readonly receiptKeyFile: string | null;
  /** Receipts name the people who agreed. */
  readonly receiptNames: boolean;
  /** The public URL of the gateways. */
  readonly publicUrl: URL | null;
  /** Per principal and gateway. */
  readonly requestsPerSecond: number | null;
  /** The origins whose pages may call the API of the gateways. */
  readonly corsOrigins: readonly string[];
  /** The origins whose pages may show the inbox in a frame. */
  readonly frameAncestors: readonly string[];
  readonly oidc: OidcConfig | null;
  /** The issuer at which people sign in, also for the roles that only have to recognise its principals. */
  readonly issuer: URL | null;
}
