import { jsonObjectSchema, type JsonObject, type JsonValue } from '@countersign/contracts';
import { z } from 'zod';

/** One call that the scripted model makes. */
export interface ScriptedCall {
  readonly toolCallId: string;
  readonly toolName: 'refund' | 'lookup';
  readonly arguments: JsonObject;
}

/** The topics of a Countersign that takes requests over Kafka. */
export interface KafkaAddress {
  readonly brokers: readonly string[];
  readonly topicPrefix: string;
}

/** The first line that the agent reads on stdin, as JSON. */
export interface AgentStart {
  readonly url: string;
  /** A token with role agent. */
  readonly agentToken: string;
  /** A token with role resolver. */
  readonly workerToken: string;
  readonly agentId: string;
  readonly runId: string;
  /** Request over Kafka; null: over HTTP. */
  readonly kafka: KafkaAddress | null;
  /** The lease of the agent's claims: short, so that a crash is known soon. */
  readonly leaseMs: number;
  /** Use the framework's streaming call, and print `used` when its first chunk arrives. */
  readonly streaming: boolean;
  /** A sub-agent makes the calls, and prints `used`; the outer agent calls it as the tool `delegate`, under the id `outer`. */
  readonly nested: boolean;
  /**
   * Answer the framework's own question with "approved" for every call, though the ledger has not agreed, and print `used`
   * after each answer.
   */
  readonly forge: boolean;
  /** The process does not end with its last line: it reads the first line of another run. */
  readonly stays: boolean;
  /** The state that an earlier process of this run printed with `paused`; null at the beginning. */
  readonly state: string | null;
  /** Turn i of the model proposes these calls together. After the last turn it answers with the text `done`. */
  readonly turns: readonly (readonly ScriptedCall[])[];
}

/** The line that the agent reads on stdin for each tool that it announced. */
export interface ToolReply {
  readonly toolName: string;
  readonly toolCallId: string | null;
  /** The tool returns it as it is. */
  readonly output: JsonValue;
}

export const agentEventSchema = z.discriminatedUnion('event', [
  z.object({
    event: z.literal('tool'),
    toolName: z.string(),
    toolCallId: z.string().nullable(),
    arguments: jsonObjectSchema,
  }),
  z.object({ event: z.literal('used'), what: z.enum(['streaming', 'nested', 'forged']) }),
  z.object({ event: z.literal('paused'), state: z.string() }),
  z.object({ event: z.literal('finished'), told: z.record(z.string(), z.string()), final: z.string() }),
  z.object({ event: z.literal('failed'), message: z.string() }),
]);

/**
 * A line that the agent prints on stdout, as JSON. `tool`: the body of a tool begins, and waits for its `ToolReply`.
 * `used`: the agent did what `streaming`, `nested` or `forge` asks for; the kit refuses it where it did not ask. `paused`: the framework waits for people; the process ends with 0. `finished`: the model has answered; `told` has the
 * text that it got for each call. `failed`: an error that the agent could not handle.
 */
export type AgentEvent = z.infer<typeof agentEventSchema>;
/** How a process comes to rest: its last line. */
export type Rest = Exclude<AgentEvent, { readonly event: 'tool' | 'used' }>;
/** The values of `what` in a line `used`. */
export type Use = Extract<AgentEvent, { readonly event: 'used' }>['what'];

/** The optional capabilities of the agent under test. A scenario that needs more is not run. */
export interface Capabilities {
  /** It pauses with a state and ends; otherwise it holds on until people have decided. */
  readonly pauses: boolean;
  readonly streaming: boolean;
  readonly nested: boolean;
  /** It runs the decided calls of a turn while others wait; otherwise it waits for all of them. */
  readonly partial: boolean;
  /** Its framework has an approval of its own, which a client could answer. */
  readonly forge: boolean;
}
