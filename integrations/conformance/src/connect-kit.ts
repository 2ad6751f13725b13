import type { JsonObject, JsonValue } from '@countersign/contracts';
import { linesOf } from '@countersign/http-client';
import type { WorkerOptions } from '@countersign/worker-sdk';
import type { AgentEvent, AgentStart, KafkaAddress, Rest, ToolReply, Use } from './protocol.js';

/** The kit, as an agent under test in JavaScript sees it. */
export interface Kit {
  readonly start: AgentStart;
  /** The options in `start` for `createWorker` or an adapter. */
  readonly workerOptions: Pick<WorkerOptions, 'url' | 'token' | 'resolverToken' | 'agentId' | 'leaseMs' | 'kafka'>;
  /** The body of a tool: the kit says what it returns. */
  readonly body: (toolName: string, toolCallId: string | null, args: JsonObject) => Promise<JsonValue>;
  /** Tells the kit that the agent did what it asked for. Call it inside the code that does it. */
  readonly used: (what: Use) => void;
  /** Returns the chunks of the framework's stream, and tells the kit `used` when the first one arrives. */
  readonly streamed: <T>(chunks: AsyncIterable<T>) => AsyncIterable<T>;
  /** Prints the one event in which the run comes to rest, `failed` if `work` rejects. Ends the process, unless it stays. */
  readonly end: (work: () => Promise<Rest>) => Promise<void>;
}

let lines: AsyncIterator<string> | undefined;

/** A process that stays connects several times, and reads its stdin on. */
const nextLine = (): Promise<IteratorResult<string>> => (lines ??= linesOf(process.stdin)).next();

/** Loaded for an agent that requests over Kafka alone: the others need no kafkajs. */
async function requestsOf(address: KafkaAddress | null): Promise<WorkerOptions['kafka']> {
  if (address === null) return undefined;
  const { kafka } = await import('@countersign/worker-sdk/kafka');
  return kafka(address);
}

/** Reads the first line of the kit on stdin. Nothing else may be printed on stdout. */
export async function connectKit(): Promise<Kit> {
  const read = async <T>(): Promise<T> => JSON.parse(String((await nextLine()).value)) as T;
  const print = (event: AgentEvent): void => void process.stdout.write(`${JSON.stringify(event)}\n`);
  const used = (what: Use): void => print({ event: 'used', what });
  const start = await read<AgentStart>();
  const { url, agentToken: token, workerToken: resolverToken, agentId, leaseMs, kafka } = start;
  return {
    start,
    workerOptions: { url, token, resolverToken, agentId, leaseMs, kafka: await requestsOf(kafka) },
    body: async (toolName, toolCallId, args) => {
      print({ event: 'tool', toolName, toolCallId, arguments: args });
      // The kit replies in the order in which the tools began.
      return (await read<ToolReply>()).output;
    },
    used,
    streamed: async function* (chunks) {
      let isFirst = true;
      for await (const chunk of chunks) {
        if (isFirst) used('streaming');
        isFirst = false;
        yield chunk;
      }
    },
    end: async (work) => {
      try {
        print(await work());
      } catch (error) {
        print({ event: 'failed', message: String(error) });
        process.exitCode = 1;
      }
      if (!start.stays) process.exit();
    },
  };
}
