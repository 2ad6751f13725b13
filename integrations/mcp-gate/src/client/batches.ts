import {
  ErrorCode,
  isInitializeRequest,
  isJSONRPCRequest,
  isJSONRPCResultResponse,
  JSONRPCMessageSchema,
  type JSONRPCMessage,
  type RequestId,
} from '@modelcontextprotocol/sdk/types.js';
import { failed } from '../stateless/request-facts.js';
import { cancelledBy, isReply, type Reply } from '../wire.js';

/** The batches of one client on stdin and stdout. The server gets their messages one by one. */
export interface Batches {
  /** Returns the messages of a batch; none when it is refused. */
  readonly open: (batch: readonly unknown[]) => readonly JSONRPCMessage[];
  /** MUST be called with each message of the client, also with those of a batch. */
  readonly fromClient: (message: JSONRPCMessage) => void;
  /** Writes a message for the client; a reply to a request of a batch with the other replies to the batch. */
  readonly send: (message: JSONRPCMessage) => Promise<void>;
  /** Writes the replies that wait for others. */
  readonly end: () => void;
}

interface Batch {
  /** The requests without a reply. */
  readonly waiting: Set<RequestId>;
  readonly replies: object[];
}

/** The only version of MCP with batches. */
const batchVersion = '2025-03-26';
/** The limit of the MCP SDK over HTTP. */
const batchMax = 100;

/** Returns an error about a message whose id is not known. */
export function namelessError(code: ErrorCode, text: string): object {
  return errorOf(null, failed(code, text));
}

export function createBatches(write: (value: object) => Promise<void>): Batches {
  const batches = new Set<Batch>();
  let initializeId: RequestId | undefined;
  let version: unknown;

  const writeWhenDone = (batch: Batch): Promise<void> => {
    if (batch.waiting.size > 0) return Promise.resolve();
    batches.delete(batch);
    return batch.replies.length === 0 ? Promise.resolve() : write(batch.replies);
  };
  const problemOf = ({ length }: readonly unknown[]): string | undefined => {
    if (version !== batchVersion)
      return `Batches exist in version ${batchVersion} of MCP only: send each message by itself`;
    return length > 0 && length <= batchMax ? undefined : `A batch has 1 to ${String(batchMax)} messages`;
  };
  const read = (value: unknown, { replies, waiting }: Batch): readonly JSONRPCMessage[] => {
    const { data: message } = JSONRPCMessageSchema.safeParse(value);
    if (message === undefined) replies.push(namelessError(ErrorCode.InvalidRequest, 'It is no message of MCP'));
    else if (isInitializeRequest(message) && isJSONRPCRequest(message)) {
      replies.push(errorOf(message.id, failed(ErrorCode.InvalidRequest, 'initialize is no part of a batch')));
    } else {
      if (isJSONRPCRequest(message)) waiting.add(message.id);
      return [message];
    }
    return [];
  };
  return {
    open: (values) => {
      const problem = problemOf(values);
      if (problem !== undefined) {
        write(namelessError(ErrorCode.InvalidRequest, problem)).catch(() => undefined);
        return [];
      }
      const batch: Batch = { waiting: new Set(), replies: [] };
      batches.add(batch);
      const messages = values.flatMap((value) => read(value, batch));
      writeWhenDone(batch).catch(() => undefined);
      return messages;
    },
    fromClient: (message) => {
      if (isJSONRPCRequest(message) && message.method === 'initialize') initializeId = message.id;
      const cancelled = cancelledBy(message);
      if (cancelled === undefined) return;
      for (const batch of batches) if (batch.waiting.delete(cancelled)) writeWhenDone(batch).catch(() => undefined);
    },
    send: async (message) => {
      if (isJSONRPCResultResponse(message) && message.id === initializeId) version = message.result['protocolVersion'];
      const id = isReply(message) ? message.id : undefined;
      const batch = id === undefined ? undefined : [...batches].find(({ waiting }) => waiting.delete(id));
      if (batch === undefined) await write(message);
      else {
        batch.replies.push(message);
        await writeWhenDone(batch);
      }
    },
    end: () => {
      for (const batch of batches) {
        batch.waiting.clear();
        writeWhenDone(batch).catch(() => undefined);
      }
    },
  };
}

function errorOf(id: RequestId | null, reply: Reply): object {
  return { jsonrpc: '2.0', id, ...reply };
}
