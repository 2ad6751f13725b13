import { createContext, useContext, useEffect, useLayoutEffect, useMemo, useRef, useState } from 'react';
import type { ReactNode, RefObject } from 'react';
import { firstGap } from './seen-area.js';
import type { Area } from './seen-area.js';
import { watchPart } from './watch-part.js';
import type { WatchedPart } from './watch-part.js';

/** Brings a place of a part on screen. */
type Bring = (gap: Pick<Area, 'left' | 'top'>) => void;

/** The parts that have to be on screen. */
interface Seen {
  /** Returns how to end it. The same element goes on where it was: the rest of its content may have come. */
  readonly add: (element: Element, isWhole: boolean, bring: Bring) => () => void;
}

const SeenContext = createContext<Seen | undefined>(undefined);

/** Whether the person has seen all of what they decide. */
export interface SeenState {
  /** True once all of every part was on screen. */
  readonly isAll: boolean;
  /** Scrolls on to the first place that was not on screen. */
  readonly pageOn: () => void;
}

/**
 * Watches which parts were on screen. A person can approve only after all of each was.
 * @param of what is shown, such as its digest: with another one everything is unseen again
 */
export function useSeen(of: string): { readonly state: SeenState; readonly context: Seen } {
  const [seen, setSeen] = useState<string>();
  const context = useMemo(() => createSeen((isAll) => setSeen(isAll ? of : undefined)), [of]);
  return { state: { isAll: seen === of, pageOn: context.pageOn }, context };
}

function createSeen(onAll: (isAll: boolean) => void): Seen & Pick<SeenState, 'pageOn'> {
  const known = new WeakMap<Element, WatchedPart>();
  const parts = new Map<WatchedPart, { readonly element: Element; readonly bring: Bring }>();
  const tell = (): void => onAll(parts.size > 0 && [...parts.keys()].every(({ isSeen }) => isSeen));
  return {
    add: (element, isWhole, bring) => {
      const part = known.get(element) ?? { width: 0, height: 0, areas: [], isWhole, isSeen: false };
      Object.assign(part, { isWhole, isSeen: false });
      known.set(element, part);
      parts.set(part, { element, bring });
      tell();
      const end = watchPart(element, part, tell);
      return () => {
        end();
        parts.delete(part);
        tell();
      };
    },
    pageOn: () => {
      const gaps = [...parts].flatMap(([part, { element, bring }]) => {
        if (part.isSeen) return [];
        const gap = firstGap(part.areas, part) ?? { left: 0, top: part.height };
        return { gap, bring, y: element.getBoundingClientRect().top + gap.top };
      });
      // The uppermost: a part may stand in another one.
      const next = gaps.sort((a, b) => a.y - b.y)[0];
      next?.bring(next.gap);
    },
  };
}

/** Says that the button is off until the rest was on screen, and shows more of it; nothing once all was. */
export function Unseen({ seen, words }: { seen: SeenState; words: string }): ReactNode {
  if (seen.isAll) return null;
  return (
    <p className="cs-more-below">
      {words} <ShowMore onClick={seen.pageOn} />
    </p>
  );
}

function ShowMore({ onClick }: { onClick: () => void }): ReactNode {
  const button = useRef<HTMLButtonElement>(null);
  useLayoutEffect(() => {
    const shown = button.current;
    return () => {
      // It goes away under the finger. Never to a button: Enter would press it.
      if (document.activeElement === shown) shown?.closest<HTMLElement>('[tabindex="-1"]')?.focus();
    };
  }, []);
  return (
    <button ref={button} type="button" className="cs-button cs-quiet" onClick={onClick}>
      Show more
    </button>
  );
}

/** The parts in it are watched; undefined: they are not. */
export function SeenParts({ context, children }: { context: Seen | undefined; children: ReactNode }): ReactNode {
  return <SeenContext.Provider value={context}>{children}</SeenContext.Provider>;
}

/** Stands at the end of a part: all of the element that it is in has to be on screen. `within`: of that element around it. */
export function Part({ isWhole = true, within }: { isWhole?: boolean; within?: string }): ReactNode {
  const seen = useContext(SeenContext);
  const place = useRef<HTMLSpanElement>(null);
  useLayoutEffect(() => {
    const mark = place.current;
    const near = mark?.parentElement;
    const part = within === undefined ? near : near?.closest(within);
    if (!mark || !near || !part) return undefined;
    return seen?.add(part, isWhole, ({ left, top }) => {
      const [from, to] = [near.getBoundingClientRect(), part.getBoundingClientRect()];
      mark.style.left = `${to.left - from.left + left}px`;
      mark.style.top = `${to.top - from.top + top}px`;
      mark.scrollIntoView({ block: 'start', inline: left > 0 ? 'start' : 'nearest', behavior: 'instant' });
    });
  }, [seen, isWhole, within]);
  return <span ref={place} className="cs-part-mark" />;
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
        <div>
          {children}
          <Part isWhole={isWhole} />
        </div>
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
