// For `--import`: the wall clock of this process is off by SHIFT_MS, its monotonic clock is right.
const shiftMs = Number(process.env['SHIFT_MS']);
const now = () => RealDate.now() + shiftMs;
const RealDate = Date;
globalThis.Date = new Proxy(RealDate, {
  construct: (_, given, as) => Reflect.construct(RealDate, given.length === 0 ? [now()] : given, as),
  apply: () => new RealDate(now()).toString(),
  get: (target, name) => (name === 'now' ? now : Reflect.get(target, name)),
});
