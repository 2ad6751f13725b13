import { useDeferredValue, useEffect, useMemo, useRef, useState } from 'react';
import type { ReactNode, RefObject } from 'react';
import type { ApprovalView } from '@countersign/contracts';
import { ApprovalPane, useAccount, useOutboxState, usePending, useShortcuts } from '@countersign/react/parts';
import { useKept } from '../live/use-kept.js';
import { hrefs, navigate } from '../routes.js';
import { Icon } from '../shell/icons.js';
import { Link } from '../ui/link.js';
import { BulkDialog } from './bulk-dialog.js';
import { FilterBar } from './filter-bar.js';
import { filtered, isFiltering, noFilters } from './filters.js';
import { inOrder, isDecidable, linesOf, ofTab } from './order.js';
import type { Grouping, Line, Order, Tab } from './order.js';
import { LoadingList, PendingList } from './pending-list.js';
import { Tabs } from './tabs.js';
import { selectedMax, useSelection } from './use-selection.js';
import type { Selection } from './use-selection.js';

/** The list of pending approvals and the card of the selected one. */
export function PendingPage({ approvalId }: { approvalId: string | undefined }): ReactNode {
  const { approvals, status, hasMore } = usePending();
  const [filters, setFilters] = useState(noFilters);
  const applied = useDeferredValue(filters);
  const { tab, setTab, ...arrangement } = useArrangement();
  const { order, grouping } = arrangement;
  const { held } = useOutboxState();
  const nowMs = useNowEvery(10_000, applied.end !== '');
  const { lines, shown } = useMemo(() => {
    const isHeld = ({ approvalId: id }: ApprovalView): boolean =>
      held.some(({ approval }) => approval.approvalId === id);
    const open = ofTab(approvals, tab).filter((approval) => !isHeld(approval));
    const arranged = linesOf(inOrder(filtered(open, applied, nowMs), order), grouping);
    return { lines: arranged, shown: approvalsOf(arranged) };
  }, [approvals, held, tab, applied, nowMs, order, grouping]);
  // Approvals that the person cannot decide are shown, but cannot be selected.
  const decidable = useMemo(() => shown.filter(isDecidable), [shown]);
  const selection = useSelection(decidable);
  const [reviewed, setReviewed] = useState<readonly ApprovalView[]>();
  const currentId = useCurrent(approvalId, shown, JSON.stringify([tab, applied]));
  const { step, leave } = useSteps(shown, currentId);
  const card = useRef<HTMLElement>(null);
  useFocusOf(card, currentId);
  useShortcuts({
    j: () => step(1),
    k: () => step(-1),
    x: () => currentId !== undefined && selection.toggle(currentId, false),
    Escape: selection.clear,
  });
  return (
    <main className="pending" data-view={approvalId === undefined ? 'list' : 'card'}>
      <section className="pending-list" aria-label="Waiting for an answer">
        <h1 className="cs-visually-hidden">Pending approvals</h1>
        <div className="pending-list-head">
          <Tabs tab={tab} onChange={setTab} />
          <FilterBar approvals={approvals} filters={filters} onChange={setFilters} arrangement={arrangement} />
        </div>
        {status === 'loading' && <LoadingList />}
        {status === 'ready' && shown.length === 0 && (
          <Nothing tab={tab} isFiltering={isFiltering(filters)} onAll={() => setTab('all')} />
        )}
        {status === 'ready' && shown.length > 0 && (
          <PendingList
            {...{ lines, currentId }}
            count={shown.length}
            selected={selection.ids}
            onSelect={selection.toggle}
            onReview={setReviewed}
          />
        )}
        <ListFoot
          {...{ shown, decidable, hasMore, selection }}
          isKnown={status === 'ready'}
          onReview={() => setReviewed(shown.filter((approval) => selection.ids.has(approval.approvalId)))}
        />
      </section>
      <section ref={card} className="pending-card" aria-label="The approval" tabIndex={-1}>
        {currentId === undefined ? (
          status === 'ready' && <p className="nothing cs-muted">Nothing is chosen.</p>
        ) : (
          <ApprovalPane key={currentId} approvalId={currentId} onDecided={leave} head={<Back />} />
        )}
      </section>
      {reviewed !== undefined && (
        <BulkDialog approvals={reviewed} onClose={() => setReviewed(undefined)} onDone={selection.clear} />
      )}
    </main>
  );
}

function approvalsOf(lines: readonly Line[]): readonly ApprovalView[] {
  return lines.flatMap((line) => (line.kind === 'approval' ? [line.approval] : []));
}

const tabs = ['mine', 'others', 'all'] as const;
const orders = ['risk', 'deadline', 'oldest'] as const;
const groupings = ['step', 'run', 'none'] as const;

/** The tab, the order and the groups as the person chose them; for a person without the role approver nothing is theirs. */
function useArrangement() {
  const isApprover = useAccount().roles.includes('approver');
  const [tab, setTab] = useKept<Tab>(isApprover ? 'tab' : 'tab-of-readers', tabs, isApprover ? 'mine' : 'all');
  const [order, setOrder] = useKept<Order>('order', orders, 'risk');
  const [grouping, setGrouping] = useKept<Grouping>('groups', groupings, 'step');
  return { tab, setTab, order, setOrder, grouping, setGrouping };
}

/** The time in steps, while it matters: with each the whole list is looked through again. */
function useNowEvery(stepMs: number, isOn: boolean): number {
  const [nowMs, setNow] = useState(Date.now);
  useEffect(() => {
    if (!isOn) return undefined;
    const look = (): void => setNow(Date.now());
    look();
    const timer = setInterval(look, stepMs);
    return () => clearInterval(timer);
  }, [stepMs, isOn]);
  return nowMs;
}

function Back(): ReactNode {
  return (
    <Link href={hrefs.pending} className="cs-button cs-quiet back">
      <Icon name="back" /> All pending
    </Link>
  );
}

/**
 * The approval in the address. Without one, the first of the list stays selected until the person chooses another one, another
 * tab or another filter: the card must not change while a person is about to press, because another approver decided.
 */
function useCurrent(
  approvalId: string | undefined,
  shown: readonly ApprovalView[],
  chosen: string,
): string | undefined {
  const [first, setFirst] = useState<{ readonly id: string; readonly chosen: string }>();
  const isLeftOut = first?.chosen !== chosen && !shown.some((one) => one.approvalId === first?.id);
  const wanted = isLeftOut ? shown[0]?.approvalId : first?.id;
  useEffect(() => {
    if (wanted !== first?.id || chosen !== first?.chosen) {
      setFirst(wanted === undefined ? undefined : { id: wanted, chosen });
    }
  }, [wanted, first, chosen]);
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

/** With the button of a decision the focus would go to the top of the page: it goes to the card that stands there then. */
function useFocusOf(card: RefObject<HTMLElement | null>, currentId: string | undefined): void {
  const last = useRef(currentId);
  useEffect(() => {
    const isNext = last.current !== undefined && last.current !== currentId;
    last.current = currentId;
    if (isNext && document.activeElement === document.body)
      (card.current?.querySelector('h2') ?? card.current)?.focus({ preventScroll: true });
  }, [card, currentId]);
}

/** A phone shows the list or the card, not both. */
function isNarrow(): boolean {
  return window.matchMedia('(max-width: 860px)').matches;
}

function Nothing(props: { tab: Tab; isFiltering: boolean; onAll: () => void }): ReactNode {
  const { approvals } = usePending();
  const { tab, isFiltering: isNarrowed, onAll } = props;
  const elsewhere = approvals.length;
  if (isNarrowed || elsewhere === 0 || tab === 'all') {
    return (
      <div className="nothing">
        <Icon name="inbox" />
        <p>{isNarrowed ? 'Nothing passes these filters.' : 'Nothing waits for an answer.'}</p>
        <p className="cs-muted">
          {isNarrowed ? 'Clear them to see the rest.' : 'New requests appear here by themselves.'}
        </p>
      </div>
    );
  }
  return (
    <div className="nothing">
      <Icon name="inbox" />
      <p>{tab === 'mine' ? 'Nothing waits for you.' : 'Nothing waits for others alone.'}</p>
      <button className="cs-button cs-quiet" type="button" onClick={onAll}>
        Show all {elsewhere.toLocaleString('en-US')}
      </button>
    </div>
  );
}

function ListFoot(props: {
  shown: readonly ApprovalView[];
  decidable: readonly ApprovalView[];
  hasMore: boolean;
  /** False while nothing is known: then there is no number. */
  isKnown: boolean;
  selection: Selection;
  onReview: () => void;
}): ReactNode {
  const { shown, decidable, hasMore, isKnown, selection, onReview } = props;
  const count = selection.ids.size;
  const all = decidable.slice(0, selectedMax).map(({ approvalId }) => approvalId);
  return (
    <footer className="list-foot">
      <span className="cs-muted">
        {count > 0 && `${count} selected`}
        {count === 0 &&
          isKnown &&
          `${shown.length.toLocaleString('en-US')} shown${hasMore ? ', more wait on the server' : ''}`}
      </span>
      <span className="list-foot-end">
        {count > 0 ? (
          <>
            <button className="cs-button cs-quiet" type="button" onClick={selection.clear}>
              Clear
            </button>
            <button className="cs-button cs-primary" type="button" onClick={onReview}>
              Review {count} …
            </button>
          </>
        ) : (
          decidable.length > 1 && (
            <button className="cs-button cs-quiet" type="button" onClick={() => selection.set(all)}>
              {decidable.length > selectedMax ? `Select the first ${selectedMax}` : 'Select all'}
            </button>
          )
        )}
      </span>
    </footer>
  );
}
