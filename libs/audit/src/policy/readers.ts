/** Reads a value of one form; undefined: it has another one. */
export type Reader<What> = (value: unknown) => What | undefined;

type Readers = Readonly<Record<string, Reader<unknown>>>;

/** What an object with these members is read as. Each may be absent. */
export type MembersOf<Shape extends Readers> = {
  readonly [Name in keyof Shape]?: NonNullable<ReturnType<Shape[Name]>>;
};

export const anything: Reader<object> = (value) => ({ value });
export const text: Reader<string> = (value) => (typeof value === 'string' ? value : undefined);
export const truth: Reader<boolean> = (value) => (typeof value === 'boolean' ? value : undefined);
export const count: Reader<number> = (value) => (Number.isSafeInteger(value) ? Number(value) : undefined);

/** One of these values. */
export function oneOf<What extends string | number>(...known: readonly What[]): Reader<What> {
  return (value) => known.find((one) => one === value);
}

/** A list, each item of which is read. */
export function listOf<Item>(item: Reader<Item>): Reader<readonly Item[]> {
  return (value) => {
    if (!Array.isArray(value)) return undefined;
    const items = value.map(item).filter((one) => one !== undefined);
    return items.length === value.length ? items : undefined;
  };
}

/** An object with any names, each value of which is a text. */
export const texts: Reader<Readonly<Record<string, string>>> = (value) => {
  const isOfTexts = isObject(value) && Object.values(value).every((one) => typeof one === 'string');
  return isOfTexts ? (value as Readonly<Record<string, string>>) : undefined;
};

/** An object with no other members than these. */
export function members<Shape extends Readers>(shape: Shape): Reader<MembersOf<Shape>> {
  return (value) => {
    if (!isObject(value)) return undefined;
    const read = Object.entries(value).map(([name, one]) => [
      name,
      Object.hasOwn(shape, name) ? shape[name]?.(one) : undefined,
    ]);
    if (read.some(([, one]) => one === undefined)) return undefined;
    return Object.fromEntries(read) as MembersOf<Shape>;
  };
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

const unitsMs = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;

/** A duration such as `10m`, in milliseconds. */
export const duration: Reader<number> = (value) => {
  const found = typeof value === 'string' ? /^([1-9]\d*)([smhd])$/.exec(value) : null;
  return found === null ? undefined : Number(found[1]) * unitsMs[found[2] as keyof typeof unitsMs];
};

/** A duration, or `never`. */
export const durationOrNever: Reader<number | 'never'> = (value) => (value === 'never' ? value : duration(value));
