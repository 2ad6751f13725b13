import type { JsonObject, JsonValue, ToolCallState } from '@countersign/contracts';

/** A 2xx response: from then on the client may rely on it. */
export type Acknowledgement =
  | {
      readonly kind: 'requested';
      readonly callId: string;
      readonly runId: string;
      readonly toolCallId: string;
      readonly toolName: string;
      readonly arguments: JsonObject;
    }
  /** A call as it was shown in any response. */
  | { readonly kind: 'shown'; readonly callId: string; readonly revision: number; readonly state: ToolCallState }
  /** An approval as it was shown. */
  | { readonly kind: 'approval'; readonly approvalId: string; readonly callId: string; readonly state: string }
  | { readonly kind: 'responded'; readonly approvalId: string; readonly callId: string; readonly decision: string }
  | { readonly kind: 'asked'; readonly approvalId: string; readonly callId: string; readonly round: number }
  | { readonly kind: 'cancelled'; readonly callId: string }
  | {
      readonly kind: 'claimed';
      readonly callId: string;
      readonly attempt: number;
      readonly resolverId: string;
      readonly actionDigest: string;
      readonly leaseUntil: string;
    }
  | { readonly kind: 'renewed'; readonly callId: string; readonly attempt: number; readonly leaseUntil: string }
  | {
      readonly kind: 'reported';
      readonly callId: string;
      /** Null when the client executed the call. */
      readonly attempt: number | null;
      readonly status: 'succeeded' | 'failed';
      readonly result: JsonValue;
    }
  | { readonly kind: 'reconciled'; readonly callId: string; readonly status: 'succeeded' | 'failed' | 'retry' };

/** A 2xx response about a standing grant. */
export interface GrantAcknowledgement {
  readonly kind: 'granted' | 'revoked';
  readonly grantId: string;
}

/** A tool that did run, as counted outside of the product. */
export interface Execution {
  readonly by: 'worker' | 'module' | 'http';
  readonly callId: string;
  /** Null when the tool does not get it. */
  readonly attempt: number | null;
  /** Its arguments. */
  readonly arguments: JsonObject;
  readonly idempotencyKey: string;
  readonly atMs: number;
}

/** The clients' records, in memory, out of reach of the server's kills. */
export interface Journal {
  readonly acknowledgements: Acknowledgement[];
  readonly grants: GrantAcknowledgement[];
  readonly executions: Execution[];
  /** Unexpected responses. */
  readonly surprises: string[];
}

/** An empty journal. */
export function createJournal(): Journal {
  return { acknowledgements: [], grants: [], executions: [], surprises: [] };
}
