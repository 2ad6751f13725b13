import { useCallback, useMemo, useRef, useState } from 'react';
import type { ApprovalView } from '@countersign/contracts';

/** The limit of one bulk request to the server. */
export const selectedMax = 256;

/** The approvals that are selected for a bulk response. */
export interface Selection {
  readonly ids: ReadonlySet<string>;
  readonly toggle: (approvalId: string, isRange: boolean) => void;
  readonly set: (approvalIds: readonly string[]) => void;
  readonly clear: () => void;
}

/** The selection among the shown approvals; removed ones are no longer selected. */
export function useSelection(approvals: readonly ApprovalView[]): Selection {
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
  const last = useRef<string>(undefined);
  const shown = useRef(approvals);
  shown.current = approvals;
  const ids = useMemo(() => {
    if (chosen.size === 0) return chosen;
    return new Set(approvals.filter(({ approvalId }) => chosen.has(approvalId)).map(({ approvalId }) => approvalId));
  }, [chosen, approvals]);
  const set = useCallback(
    (approvalIds: readonly string[]) => setChosen(new Set(approvalIds.slice(0, selectedMax))),
    [],
  );
  const toggle = useCallback((approvalId: string, isRange: boolean) => {
    const range = isRange ? between(shown.current, last.current, approvalId) : [];
    last.current = approvalId;
    setChosen((before) => {
      const next = new Set(before);
      if (range.length > 0) for (const id of range) next.add(id);
      else if (!next.delete(approvalId)) next.add(approvalId);
      return new Set([...next].slice(0, selectedMax));
    });
  }, []);
  const clear = useCallback(() => setChosen(new Set()), []);
  return { ids, toggle, set, clear };
}

function between(approvals: readonly ApprovalView[], from: string | undefined, to: string): string[] {
  const places = [from, to].map((id) => approvals.findIndex(({ approvalId }) => approvalId === id));
  if (places.includes(-1)) return [];
  return approvals.slice(Math.min(...places), Math.max(...places) + 1).map(({ approvalId }) => approvalId);
}
