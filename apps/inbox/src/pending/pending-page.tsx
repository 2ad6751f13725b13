import { useDeferredValue, useEffect, useMemo, useState } from 'react';
import type { ReactNode } from 'react';
import type { ApprovalView } from '@countersign/contracts';
import { ApprovalPane } from '../card/approval-pane.js';
import { usePending } from '../live/use-pending.js';
import { useShortcuts } from '../live/use-shortcuts.js';
import { hrefs, navigate } from '../routes.js';
import { Icon } from '../shell/icons.js';
import { BulkDialog } from './bulk-dialog.js';
import { FilterBar } from './filter-bar.js';
import { filtered, isFiltering, noFilters } from './filters.js';
import { PendingList, isDecidable } from './pending-list.js';
import { selectedMax, useSelection } from './use-selection.js';
import type { Selection } from './use-selection.js';

/** The list of pending approvals and the card of the selected one. */
export function PendingPage({ approvalId }: { approvalId: string | undefined }): ReactNode {
  const { approvals, status, hasMore } = usePending();
  const [filters, setFilters] = useState(noFilters);
  const applied = useDeferredValue(filters);
  const shown = useMemo(() => filtered(approvals, applied), [approvals, applied]);
  // Approvals that the person cannot decide are shown, but cannot be selected.
  const decidable = useMemo(() => shown.filter(isDecidable), [shown]);
  const selection = useSelection(decidable);
  const [isReviewing, setReviewing] = useState(false);
  const currentId = useCurrent(approvalId, shown);
  const { step, leave } = useSteps(shown, currentId);
  useShortcuts({
    j: () => step(1),
    k: () => step(-1),
    x: () => currentId !== undefined && selection.toggle(currentId, false),
    Escape: selection.clear,
  });
  return (
    <main className="pending" data-view={approvalId === undefined ? 'list' : 'card'}>
      <section className="pending-list" aria-label="Waiting for an answer">
        <h1 className="visually-hidden">Pending approvals</h1>
        <FilterBar approvals={approvals} filters={filters} onChange={setFilters} />
        {shown.length === 0 ? (
          <Nothing isLoading={status === 'loading'} isFiltering={isFiltering(filters)} />
        ) : (
          <PendingList approvals={shown} currentId={currentId} selected={selection.ids} onSelect={selection.toggle} />
        )}
        <ListFoot
          shown={shown}
          decidable={decidable}
          hasMore={hasMore}
          selection={selection}
          onReview={() => setReviewing(true)}
        />
      </section>
      <section className="pending-card" aria-label="The approval">
        {currentId === undefined ? (
          status === 'ready' && <p className="nothing muted">Nothing is chosen.</p>
        ) : (
          <ApprovalPane key={currentId} approvalId={currentId} onDecided={leave} />
        )}
      </section>
      {isReviewing && (
        <BulkDialog
          approvals={shown.filter((approval) => selection.ids.has(approval.approvalId))}
          onClose={() => setReviewing(false)}
          onDone={selection.clear}
        />
      )}
    </main>
  );
}

/**
 * The approval in the address. Without one, the first of the list stays selected until the person chooses another: the
 * card must not change while a person is about to press, because another approver decided.
 */
function useCurrent(approvalId: string | undefined, shown: readonly ApprovalView[]): string | undefined {
  const { byId } = usePending();
  const [first, setFirst] = useState<string | undefined>(undefined);
  const isLeftOut = first !== undefined && byId.has(first) && !shown.some((one) => one.approvalId === first);
  const wanted = first === undefined || isLeftOut ? shown[0]?.approvalId : first;
  useEffect(() => {
    if (wanted !== first) setFirst(wanted);
  }, [wanted, first]);
  return approvalId ?? wanted;
}

/** Selects the next or the previous one; after the last decision it returns to the list. */
function useSteps(shown: readonly ApprovalView[], currentId: string | undefined) {
  const [place, setPlace] = useState(0);
  const index = shown.findIndex((approval) => approval.approvalId === currentId);
  useEffect(() => {
    if (index >= 0) setPlace(index);
  }, [index]);
  // The one after a removed approval takes its place.
  const next = index >= 0 ? shown[index + 1] : shown[place];
  const previous = index >= 0 ? shown[index - 1] : shown[place - 1];
  return {
    step: (by: 1 | -1): void => {
      const other = by === 1 ? next : previous;
      if (other !== undefined) navigate(hrefs.approval(other.approvalId), { replace: true });
    },
    leave: (): void => {
      const other = isNarrow() ? undefined : (next ?? previous);
      navigate(other === undefined ? hrefs.pending : hrefs.approval(other.approvalId), { replace: true });
    },
  };
}

/** A phone shows the list or the card, not both. */
function isNarrow(): boolean {
  return window.matchMedia('(max-width: 860px)').matches;
}

function Nothing({ isLoading, isFiltering: isNarrowed }: { isLoading: boolean; isFiltering: boolean }): ReactNode {
  if (isLoading) return <div className="nothing" aria-busy="true" />;
  return (
    <div className="nothing">
      <Icon name="inbox" />
      <p>{isNarrowed ? 'Nothing passes these filters.' : 'Nothing waits for an answer.'}</p>
      <p className="muted">{isNarrowed ? 'Clear them to see the rest.' : 'New requests appear here by themselves.'}</p>
    </div>
  );
}

function ListFoot(props: {
  shown: readonly ApprovalView[];
  decidable: readonly ApprovalView[];
  hasMore: boolean;
  selection: Selection;
  onReview: () => void;
}): ReactNode {
  const { shown, decidable, hasMore, selection, onReview } = props;
  const count = selection.ids.size;
  const all = decidable.slice(0, selectedMax).map(({ approvalId }) => approvalId);
  return (
    <footer className="list-foot">
      <span className="muted">
        {count > 0
          ? `${count} selected`
          : `${shown.length.toLocaleString('en-US')} shown${hasMore ? ', more wait on the server' : ''}`}
      </span>
      <span className="list-foot-end">
        {count > 0 ? (
          <>
            <button className="button quiet" type="button" onClick={selection.clear}>
              Clear
            </button>
            <button className="button primary" type="button" onClick={onReview}>
              Review {count} …
            </button>
          </>
        ) : (
          decidable.length > 1 && (
            <button className="button quiet" type="button" onClick={() => selection.set(all)}>
              {decidable.length > selectedMax ? `Select the first ${selectedMax}` : 'Select all'}
            </button>
          )
        )}
      </span>
    </footer>
  );
}
