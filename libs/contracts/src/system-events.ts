import { z } from 'zod';
import { proofShape } from './credentials.js';
import { assuranceSchema, digestSchema, timeSchema } from './primitives.js';
import { stopEventSchemas } from './stop-events.js';
import { systemStreamPrefix } from './system-stream.js';

/** The process that records: its id is made at its first start and kept in its data folder. */
const process = { processId: z.string() };

/** A process started. Of the tenant `default`, as all facts about a process as a whole. */
export const processStartedSchema = z.strictObject({
  ...process,
  /** `standalone`, or the role in a cluster. */
  role: z.string(),
  version: z.string(),
  /** The commit of the source; null: the build does not know it. */
  commit: z.string().nullable(),
  /** The digest of each configuration file, by what it configures. */
  files: z.record(z.string(), digestSchema),
  startedAt: timeSchema,
});

/** The groups that the people of a front end may have, and how sure it may be of them. */
const peopleOfFrontEndSchema = z
  .strictObject({ groups: z.array(z.string()), maxAssurance: assuranceSchema })
  .meta({ id: 'PeopleOfFrontEnd' });

/** What one credential of the tokens file may do. Never the credential itself. */
const credentialRightsSchema = z
  .strictObject({
    /** The id of the credential. Absent: the reader may not see it. */
    credential: z.exactOptional(z.string()),
    principal: z.string(),
    roles: z.array(z.string()),
    groups: z.array(z.string()),
    agentIds: z.array(z.string()),
    /** Groups and `agentIds` that are left out, because there are too many; absent: none. */
    more: z.exactOptional(z.int().min(1)),
    owner: z.exactOptional(z.string()),
    maxAssurance: z.exactOptional(assuranceSchema),
    /** For whom a front end may speak; absent: the credential is of no front end. */
    people: z.exactOptional(peopleOfFrontEndSchema),
    /** The digest of all of these: an entry is the same while it is the same. */
    rights: digestSchema,
  })
  .meta({ id: 'CredentialRights' });
export type CredentialRights = z.infer<typeof credentialRightsSchema>;

export const configurationKinds = [
  ...(['tokens', 'channels', 'people', 'tools', 'oidc', 'policy', 'receipts', 'witnesses', 'timestamps'] as const),
] as const;

/** What a part of the configuration configures. */
export type ConfigurationKind = (typeof configurationKinds)[number];
const configurationKindSchema = z.enum(configurationKinds).meta({ id: 'ConfigurationKind' });

/**
 * The configuration of a process is another one than it recorded last. Recorded before it is in force. A large change is
 * several events.
 */
export const configurationChangedSchema = z.strictObject({
  ...process,
  configures: configurationKindSchema,
  /** The digest of the configuration, of a file the one of its bytes. Null: there is none, or it has other tenants too. */
  digest: digestSchema.nullable(),
  /** The credentials that are new, those whose rights are others, and those that are gone. Empty unless it is of tokens. */
  added: z.array(credentialRightsSchema),
  changed: z.array(credentialRightsSchema),
  removed: z.array(credentialRightsSchema),
  /** What else there is now, in words, such as the ids of the channels. */
  summary: z.array(z.string()),
  part: z
    .strictObject({ nth: z.int().min(1), of: z.int().min(1) })
    .meta({ id: 'ConfigurationPart' })
    .exactOptional(),
  changedAt: timeSchema,
});

/** A configuration file cannot be used: what was in force stays in force. */
export const configurationRefusedSchema = z.strictObject({
  ...process,
  configures: configurationKindSchema,
  /** Null: the file could not be read. */
  digest: digestSchema.nullable(),
  why: z.string(),
  refusedAt: timeSchema,
});

/** The key that encrypts the keys of sensitive values was replaced. */
export const keysRotatedSchema = z.strictObject({
  ...process,
  /** The digests of the fingerprints of the two root keys. */
  before: digestSchema,
  after: digestSchema,
  rotatedAt: timeSchema,
});

/**
 * The key that signs the checkpoints of the log is replaced by another one, within the epoch. Recorded before the new key
 * signs: the checkpoint that both keys sign covers this event.
 */
export const logKeyChangedSchema = z.strictObject({
  ...process,
  /** The vkeys of the two keys, under the origin of the log. */
  before: z.string(),
  after: z.string(),
  /** The vkeys of the ML-DSA-44 keys beside them. Absent: none signed beside the old key. `after` is null where none signs beside the new one. */
  mlDsa: z.exactOptional(z.strictObject({ before: z.string(), after: z.string().nullable() })),
  changedAt: timeSchema,
});

/**
 * The operator accepted a log that had lost its end (`COUNTERSIGN_ACCEPT_LOG_END`): the events between the two positions are
 * missing, and tools of their calls may have run. Each start warns of it until a person says that they know, which is recorded as the
 * same event with the person. The log of each tenant that goes on as its next epoch has the event, before that epoch is signed.
 */
export const logEndAcceptedSchema = z.strictObject({
  ...process,
  /** The last position that another file of the data folder knew; `to` where none knew a later one. */
  from: z.int().min(1),
  /** Where the log ended. */
  to: z.int().min(0),
  /** The newest checkpoint of the tenant's log before, a signed note. Absent: there was none, or an older version recorded this. */
  checkpoint: z.exactOptional(z.string()),
  /** How the tenant's log contradicts that checkpoint, in words. Absent: it was recorded before the two were compared. */
  why: z.exactOptional(z.string()),
  /** The person who knows of the loss. Absent: the process started with it. */
  by: z.exactOptional(z.string()),
  /** What the person says about it. */
  reason: z.exactOptional(z.string()),
  acceptedAt: timeSchema,
  ...proofShape,
});

/**
 * A person went on with a log that contradicts what was signed of it, as the next epoch: it was restored from a backup, say.
 * Recorded before that epoch begins. Without a person: the operator restored a backup (`countersign restore`). It is the first event
 * after those of the backup then, in the log of each tenant, and nothing that was permitted before it runs without a new response.
 */
export const logRestoredSchema = z.strictObject({
  ...process,
  /** The person who went on. Absent: the operator restored a backup. */
  principal: z.exactOptional(z.string()),
  reason: z.string(),
  /** The newest checkpoint of the epoch before, a signed note; null: this installation knows none. */
  checkpoint: z.string().nullable(),
  /** How the log contradicts it, in words. */
  why: z.string(),
  /** The last position that was known, and where the backup ended. Absent: a person went on. */
  from: z.exactOptional(z.int().min(1)),
  to: z.exactOptional(z.int().min(0)),
  restoredAt: timeSchema,
  ...proofShape,
});

/** The operator made a backup of the log (`countersign backup`), and the copy was verified. */
export const backupSchema = z.strictObject({
  ...process,
  backupId: z.uuid(),
  /** The position of the last event in it: where a log ends that is restored from it. */
  to: z.int().min(0),
  /** How many events of the tenant it has. */
  events: z.int().min(0),
  /** The newest checkpoint of the tenant's log in it, a signed note; null: it has none. */
  checkpoint: z.string().nullable(),
  /** Whether the keys of sensitive values were copied as well, to another place. */
  keys: z.boolean(),
  /** The digest of its `manifest.json`, which has the digests of its files: it shows later which copy this is. */
  manifest: digestSchema,
  madeAt: timeSchema,
});

/** A person signed in at the inbox. */
export const signedInSchema = z.strictObject({
  ...process,
  principal: z.string(),
  with: z.enum(['token', 'oidc']).meta({ id: 'SignInProof' }),
  /** Further sign-ins of the person within a minute, which this event stands for; absent: none. */
  more: z.exactOptional(z.int().min(1)),
  signedInAt: timeSchema,
  ...proofShape,
});

/** Sign-ins and tokens that were refused within a minute. */
export const signInRefusedSchema = z.strictObject({
  ...process,
  count: z.int().min(1),
  /** How many of them for which reason. */
  reasons: z.record(z.string(), z.int().min(1)),
  firstAt: timeSchema,
  lastAt: timeSchema,
});

/** How a reader sees hidden values: masked, encrypted as they are stored, or as they were recorded. */
export const readValuesSchema = z.enum(['masked', 'stored', 'clear']).meta({ id: 'ReadValues' });

/** An auditor exported the log or read values that others see masked. */
export const auditReadSchema = z.strictObject({
  ...process,
  principal: z.string(),
  /** The first in an hour is recorded at once. What the same person reads after it is one event at its end. */
  count: z.int().min(1),
  /** The latest of them, at most 20. */
  reads: z.array(
    z
      .strictObject({
        what: z.enum(['export', 'call', 'list', 'stream']).meta({ id: 'AuditReadKind' }),
        values: readValuesSchema,
        callId: z.exactOptional(z.string()),
        /** The position of the log after which it began. */
        after: z.exactOptional(z.int().min(0)),
        /** The most events that it could return. */
        limit: z.exactOptional(z.int().min(1)),
        /** The period that was asked for. */
        since: z.exactOptional(z.string()),
        until: z.exactOptional(z.string()),
        at: timeSchema,
      })
      .meta({ id: 'AuditedRead' }),
  ),
  firstAt: timeSchema,
  lastAt: timeSchema,
  ...proofShape,
});

export { systemStreamPrefix };

/** The stored format of every event of the streams `system-<tenant>-<process>` and `system-<tenant>-stops`, by type. */
export const systemEventSchemas = {
  ProcessStarted: processStartedSchema,
  ConfigurationChanged: configurationChangedSchema,
  ConfigurationRefused: configurationRefusedSchema,
  KeysRotated: keysRotatedSchema,
  LogKeyChanged: logKeyChangedSchema,
  LogEndAccepted: logEndAcceptedSchema,
  LogRestored: logRestoredSchema,
  Backup: backupSchema,
  SignedIn: signedInSchema,
  SignInRefused: signInRefusedSchema,
  AuditRead: auditReadSchema,
  ...stopEventSchemas,
} as const;

/** The name of a system event. */
export type SystemEventType = keyof typeof systemEventSchemas;

export const systemEventTypes = Object.keys(systemEventSchemas) as SystemEventType[];

/** The data of one system event. */
export type SystemEventData<T extends SystemEventType> = z.infer<(typeof systemEventSchemas)[T]>;

/** Who configured what, who looked, who stopped: one stream per tenant and process, and one of stops per tenant. */
export type SystemEvent = {
  [T in SystemEventType]: { readonly type: T; readonly data: SystemEventData<T> };
}[SystemEventType];

/** The stream of a tenant and a process. The id of a process has no `-`. */
export function systemStream(tenant: string, processId: string): string {
  return `${systemStreamPrefix}${tenant}-${processId}`;
}
