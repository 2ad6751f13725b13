import { firstGap, overlap, withArea } from './seen-area.js';
import type { Area } from './seen-area.js';

/** A part of what a person decides, and what of it was on screen. */
export interface WatchedPart {
  /** False while some of its content is not even in its element. */
  isWhole: boolean;
  /** All of it was on screen. */
  isSeen: boolean;
  width: number;
  height: number;
  areas: readonly Area[];
  /** What was on screen at the last look; `time` in ms. */
  last?: { readonly area: Area | undefined; readonly time: number } | undefined;
}

/** What passes by in less than this was not looked at, such as what is between when a scroll bar is dragged. */
const restMs = 120;

/**
 * Notes which places of an element were on screen at two looks in a row. Scrolls and changes of sizes make it look.
 * @param onLook called after each look
 * @returns how to end it
 */
export function watchPart(element: Element, part: WatchedPart, onLook: () => void): () => void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const observer = new IntersectionObserver(
    (entries) => {
      const isMoving = entries.map((entry) => note(part, entry)).includes(true);
      // What is around a frame scrolls without a word to it.
      if (isMoving || parent !== window) lookAgain();
      onLook();
    },
    { threshold: [0, 0.5, 1] },
  );
  const look = (): void => {
    observer.unobserve(element);
    if (!part.isSeen) observer.observe(element);
  };
  const lookAgain = (): void => {
    timer ??= setTimeout(() => {
      timer = undefined;
      look();
    }, restMs);
  };
  const onMove = (): void => {
    if (timer === undefined) look();
    lookAgain();
  };
  const end = new AbortController();
  for (const type of ['scroll', 'resize'])
    addEventListener(type, onMove, { capture: true, passive: true, signal: end.signal });
  look();
  return () => {
    end.abort();
    clearTimeout(timer);
    observer.disconnect();
  };
}

/** Notes what is on screen of a part. Returns whether it is not what was there at the last look. */
function note(part: WatchedPart, entry: IntersectionObserverEntry): boolean {
  measure(part, entry.boundingClientRect);
  const area = areaOf(entry);
  // It opens with what is on screen.
  const { last = { area, time: 0 } } = part;
  if (entry.time - last.time < restMs * 0.8) return true;
  const hasMoved = part.last === undefined || JSON.stringify(last.area) !== JSON.stringify(area);
  part.last = { area, time: entry.time };
  const rested = area && last.area && overlap(last.area, area);
  if (rested !== undefined) part.areas = withArea(part.areas, rested);
  part.isSeen = part.isWhole && part.areas.length > 0 && firstGap(part.areas, part) === undefined;
  return hasMoved;
}

function measure(part: WatchedPart, { width, height }: DOMRectReadOnly): void {
  // Its lines are elsewhere.
  if (width !== part.width || height < part.height) Object.assign(part, { areas: [], last: undefined });
  Object.assign(part, { width, height });
}

function areaOf({ isIntersecting, intersectionRect, boundingClientRect: { x, y } }: IntersectionObserverEntry) {
  const { left, top, right, bottom } = intersectionRect;
  const [across, down] = [(value: number) => Math.round(value - x), (value: number) => Math.round(value - y)];
  return isIntersecting
    ? { left: across(left), top: down(top), right: across(right), bottom: down(bottom) }
    : undefined;
}
