import type { BatchEvent, GrantEvent, JsonObject, PasskeyEvent, ToolCallEvent } from '@countersign/contracts';
import type {
  BatchState,
  Decider,
  GrantCommand,
  GrantState,
  Passkeys,
  Rule,
  BatchCommand,
  ToolCallCommand,
  ToolCallState,
} from '@countersign/domain';
import type { EventStore, Forbidding, StoreClock } from '@countersign/event-store';
import type { Policies, ShadowPolicy } from '@countersign/policy';
import type { Clock, Ids, Log } from '@countersign/runtime';
import type { ArgumentSchemas } from './request/argument-schema.js';
import type { GrantPorts } from './grants/grant-ports.js';
import type { CommandHandler } from './stream/handle-command.js';
import type { History } from './history.js';
import type { SeenCalls } from './people/seen-calls.js';
import type { KeyedQueue } from './stream/keyed-queue.js';
import type { KnownStops } from './stops/known-stops.js';

/** A tool that the service itself executes. Its facts come from the operator's file, not from the agent. */
export interface ServiceTool {
  readonly needsApproval: boolean;
  readonly idempotent: boolean;
  readonly inputSchema: JsonObject | null;
}

/** The tools that the service executes, by tenant and name. */
export interface ServiceTools {
  readonly find: (tenant: string, toolName: string) => ServiceTool | undefined;
}

/** An approver, as the tokens file, the sign-in provider and the channels file say now. */
export interface KnownApprover {
  readonly groups: readonly string[];
  /** True for a person of the sign-in provider without a session: the groups that the provider gives them are unknown. */
  readonly isAway: boolean;
  /**
   * The groups that a person of a front end may have at most, whatever gives them. Their own are those of their request, so
   * `isAway` is true. Absent: any.
   */
  readonly within?: readonly string[];
  /** What the sign-in provider gives of `groups`. Absent: it is no person of a provider or a front end. */
  readonly signedIn?: readonly string[];
}

/** The facts about people from the tokens file, the sign-in provider and the channels file. */
export interface People {
  /** An approver as known now; undefined when the principal is none. */
  readonly approver: (tenant: string, principal: string) => KnownApprover | undefined;
  /**
   * All approvers of the tenant; undefined when they are not known, because a sign-in provider gives the role. The same
   * list until one of them, or a group of one, changes.
   */
  readonly approvers: (tenant: string) => readonly string[] | undefined;
  /** The groups of the people of each front end, of whom there may be any number. Default: there is no front end. */
  readonly crowds?: (tenant: string) => readonly (readonly string[])[];
  /**
   * Returns whether a credential of the tokens file is still one of this principal, or of the front end that vouches for
   * them. Undefined for other credentials. Default: none is known.
   */
  readonly holds?: (tenant: string, principal: string, credential: string) => boolean | undefined;
  /** All names of each person of the channels file: the id and the identities. The same list until the file changes. */
  readonly names: (tenant: string) => readonly (readonly string[])[];
}

export type ToolCallHandler = CommandHandler<ToolCallState, ToolCallEvent>;

export type BatchHandler = CommandHandler<BatchState, BatchEvent>;

/** The passkeys of people. */
export interface PasskeyPorts {
  readonly handler: CommandHandler<Passkeys, PasskeyEvent>;
  /** The log, which says what came first: a signature or the removal of its passkey. */
  readonly log: Pick<EventStore, 'readStream'>;
  /** The highest counter of each passkey that this process has seen. */
  readonly signCounts: Map<string, number>;
}

/**
 * The dependencies of every command. A command loads its stream, applies the domain's rule, and appends at the revision
 * that it decided on; the edge checks roles, the rule checks ownership. A command whose id is already in the stream
 * adds nothing. @throws EventStoreUnavailableError when the store cannot be written; a retry is safe.
 */
export interface CommandPorts {
  readonly handler: ToolCallHandler;
  /** For the streams of all-or-nothing batches. */
  readonly batches: BatchHandler;
  /** The responses that change a call of a step, one after another by step. */
  readonly changesOfSteps: KeyedQueue;
  /** Of one request that answers many approvals: what the other calls of their steps propose. Default: each answer looks itself. */
  readonly seenForYes?: SeenCalls;
  readonly passkeys: PasskeyPorts;
  readonly policies: Policies;
  /**
   * Returns the version of the policy that is in force according to the log. Silence approves nothing where `policies` has another one.
   * Default: it is that of `policies`.
   */
  readonly policyInForce?: ((tenant: string) => Promise<string>) | undefined;
  /** The stops: a call that one covers is not requested, approved or claimed. */
  readonly stops: KnownStops;
  /** The streams that cannot be read and forbid what they cover. Default: none. */
  readonly forbidding?: Forbidding | undefined;
  /** Without it no call is covered by a standing grant: for processes that record no requests. */
  readonly grants?: GrantPorts;
  /** The candidate policy, which judges each call too and decides nothing. Default: none. */
  readonly shadow?: Pick<ShadowPolicy, 'of'> | undefined;
  /** Default: every person whom the policy lists is an approver, with the groups of the policy. */
  readonly people?: People | undefined;
  readonly tools: ServiceTools;
  readonly schemas: ArgumentSchemas;
  /** The ports of quotas and of expressions over a run. Absent in a process that requests no approvals. */
  readonly asking?: { readonly history: History; readonly inTurn: KeyedQueue };
  /**
   * For a process that does not return what it records: a request for one call is recorded without a read of its
   * stream. That costs one round trip instead of two, and the result does not say whether it was a duplicate. Default:
   * false.
   */
  readonly writeOnly?: boolean;
  /** Only the simulation sets these three: it weakens a rule to prove that its checkers notice. */
  readonly alterRule?: <Command extends ToolCallCommand>(rule: Rule<Command>) => Rule<Command>;
  readonly decideBatch?: Decider<BatchState, BatchCommand, BatchEvent>['decide'];
  readonly decideGrant?: Decider<GrantState, GrantCommand, GrantEvent>['decide'];
  /**
   * True until a person knows that the log was restored from a backup: what was requested after it is unknown, so people are asked
   * about each call that a rule would allow. Default: it was not.
   */
  readonly isRestored?: (() => boolean) | undefined;
  /** Without `missedSince` it missed no time. */
  readonly clock: Clock & Partial<Pick<StoreClock, 'missedSince'>>;
  readonly ids: Ids;
  readonly log: Log;
}
