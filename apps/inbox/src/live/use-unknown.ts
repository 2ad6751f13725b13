import { createContext, createElement, use, useEffect } from 'react';
import type { ReactNode } from 'react';
import type { ToolCallView } from '@countersign/contracts';
import { useLoaded } from '@countersign/react/parts';
import type { Problem } from '@countersign/react/parts';
import { listCalls } from '../api/countersign.js';
import { followEvents } from '../api/event-stream.js';

/** The calls whose outcome is unknown; undefined until they are loaded. */
export interface Unknown {
  readonly calls: readonly ToolCallView[] | undefined;
  readonly hasMore: boolean;
  readonly problem: Problem | undefined;
  readonly reload: () => void;
}

const none: Unknown = { calls: undefined, hasMore: false, problem: undefined, reload: () => undefined };
const UnknownContext = createContext(none);
const types = ['ExecutionOutcomeUnknown', 'ExecutionReconciled'];
const limit = 200;

/** Loads the calls once for the navigation and the page, and again when one comes or goes. */
export function UnknownCalls({ children }: { children: ReactNode }): ReactNode {
  const { value, problem, reload } = useLoaded('unknown', (signal) => listCalls('unknown', limit, signal));
  useEffect(() => followEvents({ after: 'now', types }, { onEvent: reload, onRestored: reload }), [reload]);
  const unknown = { calls: value?.calls, hasMore: value !== undefined && value.nextCursor !== null, problem, reload };
  return createElement(UnknownContext, { value: unknown }, children);
}

/** The calls whose outcome is unknown. */
export function useUnknown(): Unknown {
  return use(UnknownContext);
}
