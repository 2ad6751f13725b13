import {
  createContext,
  useCallback,
  useContext,
  useEffect,
  useId,
  useLayoutEffect,
  useMemo,
  useRef,
  useState,
} from 'react';
import type { ReactNode, RefObject } from 'react';

/** The ends of what is shown of a card, and whether each was on screen. */
interface Seen {
  readonly report: (id: string, end: boolean | undefined) => void;
}

const SeenContext = createContext<Seen | undefined>(undefined);

/** Whether the person has seen all arguments. */
export interface SeenState {
  /** True once every end was on screen. */
  readonly isAll: boolean;
  /** Scrolls on towards the first end that was not on screen. */
  readonly pageOn: () => void;
}

/**
 * Watches which arguments were on screen. A person can approve only after all of them were.
 * @param of what is shown, such as its digest: with another one everything is unseen again
 */
export function useSeen(of: string): { readonly state: SeenState; readonly context: Seen } {
  const [ends, setEnds] = useState<{ readonly of: string; readonly seen: ReadonlyMap<string, boolean> }>();
  const known = ends?.of === of ? ends.seen : undefined;
  const report = useCallback(
    (id: string, end: boolean | undefined) => {
      setEnds((before) => {
        const seen = new Map(before?.of === of ? before.seen : []);
        if (end === undefined) seen.delete(id);
        // Once seen is seen.
        else seen.set(id, end || seen.get(id) === true);
        return { of, seen };
      });
    },
    [of],
  );
  const context = useMemo(() => ({ report }), [report]);
  const isAll = known !== undefined && known.size > 0 && [...known.values()].every(Boolean);
  const pageOn = (): void => {
    const next = [...(known ?? [])].find(([, isSeen]) => !isSeen)?.[0];
    const end = next === undefined ? null : document.getElementById(next);
    if (end !== null) scrollTowards(end);
  };
  return { state: { isAll, pageOn }, context };
}

/** Scrolls by one page, so that nothing between is left out: first to where a box stands, then in it. */
function scrollTowards(end: HTMLElement): void {
  const boxes = boxesAround(end);
  let page = Infinity;
  for (const [nth, box] of boxes.entries()) {
    page = Math.min(page, box.clientHeight * 0.9);
    const bottom = box === document.scrollingElement ? box.clientHeight : box.getBoundingClientRect().bottom;
    const left = (boxes[nth + 1] ?? end).getBoundingClientRect().bottom - bottom;
    const before = box.scrollTop;
    if (left >= 1) box.scrollBy({ top: Math.min(page, Math.ceil(left) + 1), behavior: 'instant' });
    if (box.scrollTop !== before) return;
  }
  // It may stand to the side.
  end.scrollIntoView({ block: 'nearest', inline: 'nearest' });
}

/** What scrolls around an element, the outermost first. The page itself is such a box. */
function boxesAround(element: HTMLElement): HTMLElement[] {
  const boxes: HTMLElement[] = [];
  for (let box = element.parentElement; box !== null; box = box.parentElement) {
    const scrolls = box === document.scrollingElement || getComputedStyle(box).overflowY !== 'visible';
    if (scrolls && box.scrollHeight > box.clientHeight + 1) boxes.unshift(box);
  }
  return boxes;
}

/** Says that the button is off until the rest was on screen, and shows more of it; nothing once all was. */
export function Unseen({ seen, words }: { seen: SeenState; words: string }): ReactNode {
  if (seen.isAll) return null;
  return (
    <p className="cs-more-below">
      {words}{' '}
      <button type="button" className="cs-button cs-quiet" onClick={seen.pageOn}>
        Show more
      </button>
    </p>
  );
}

/** The parts in it are watched; undefined: they are not. */
export function SeenParts({ context, children }: { context: Seen | undefined; children: ReactNode }): ReactNode {
  return <SeenContext.Provider value={context}>{children}</SeenContext.Provider>;
}

/** The end of a part: once it is on screen, the part counts as seen. */
export function End({ isWhole = true }: { isWhole?: boolean }): ReactNode {
  const seen = useContext(SeenContext);
  const id = useId();
  const place = useRef<HTMLSpanElement>(null);
  useLayoutEffect(() => {
    if (seen === undefined || place.current === null) return undefined;
    seen.report(id, false);
    if (!isWhole) return () => seen.report(id, undefined);
    const observer = new IntersectionObserver((entries) => {
      if (entries.some(({ isIntersecting }) => isIntersecting)) seen.report(id, true);
    });
    observer.observe(place.current);
    return () => {
      observer.disconnect();
      seen.report(id, undefined);
    };
  }, [seen, id, isWhole]);
  return <span ref={place} id={id} className="cs-end" />;
}

/** A box that scrolls, and says how much is below. */
export function SeenBox(props: {
  className: string;
  label: string;
  /** False while a part of the content is not even in the box. */
  isWhole: boolean;
  children: ReactNode;
}): ReactNode {
  const { className, label, isWhole, children } = props;
  const box = useRef<HTMLDivElement>(null);
  const below = useBelow(box);
  return (
    <>
      <div ref={box} className={className} tabIndex={0} role="group" aria-label={label}>
        {children}
        <End isWhole={isWhole} />
      </div>
      <Below screens={below} />
    </>
  );
}

/** Says how much is below. It stands under the box, so that it covers nothing. */
export function Below({ screens }: { screens: number }): ReactNode {
  if (screens === 0) return null;
  return <p className="cs-more-below">{belowWords(screens)}</p>;
}

function belowWords(screens: number): string {
  if (screens <= 1) return 'More below: scroll to its end';
  return `${Math.ceil(screens).toLocaleString('en-US')} more screens below: scroll to the end`;
}

/** How many screens of a scrolling box are below; 0 at its end. */
export function useBelow(box: RefObject<HTMLElement | null>): number {
  const [screens, setScreens] = useState(0);
  useEffect(() => {
    const element = box.current;
    if (element === null) return undefined;
    const measure = (): void => {
      const left = element.scrollHeight - element.scrollTop - element.clientHeight;
      setScreens(left <= 2 ? 0 : Math.max(0.1, Math.round((left / element.clientHeight) * 10) / 10));
    };
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    for (const child of element.children) observer.observe(child);
    element.addEventListener('scroll', measure, { passive: true });
    return () => {
      observer.disconnect();
      element.removeEventListener('scroll', measure);
    };
  }, [box]);
  return screens;
}
