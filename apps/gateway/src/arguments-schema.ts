import { isReadable, maskSchema, toolCallStream } from '@countersign/contracts';
import { sleep } from '@countersign/contracts/clock';
import type { ApprovalView, EventData, JsonObject, LogEvent } from '@countersign/contracts';
import { isStoreOutage } from '@countersign/event-store';
import type { Visibility } from '@countersign/read-model';
import type { GatewayPorts } from './ports.js';

type ShownSchema = Pick<ApprovalView, 'argumentsSchema'>;

/** A card is not held up by a store that does not answer. */
const waitMsMax = 1000;

/**
 * Reads the schema of a call's tool from the log, as far as the reader may see it. The read model leaves it there, because it can
 * be larger than everything else about a call. Returns nothing while the store cannot be read.
 */
export async function readArgumentsSchema(
  { store, clock }: Pick<GatewayPorts, 'store' | 'clock'>,
  callId: string,
  visibility: Visibility,
): Promise<ShownSchema> {
  const waiting = new AbortController();
  const read = store.readStream(toolCallStream(callId)).then(
    ([requested]): ShownSchema => ({ argumentsSchema: schemaIn(requested, visibility) }),
    (error: unknown): ShownSchema => {
      if (isStoreOutage(error)) return {};
      throw error;
    },
  );
  const late = sleep(clock, waitMsMax, waiting.signal).then((): ShownSchema => ({}));
  return Promise.race([read, late]).finally(() => {
    waiting.abort();
  });
}

function schemaIn(requested: LogEvent | undefined, visibility: Visibility): JsonObject | null {
  if (requested === undefined || !isReadable(requested) || requested.type !== 'ToolCallRequested') return null;
  const { toolSchema, arguments: args, sensitive } = requested.data as EventData<'ToolCallRequested'>;
  return toolSchema === null || visibility === 'whole' ? toolSchema : maskSchema(toolSchema, args, sensitive);
}
