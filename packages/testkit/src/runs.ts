/** How often a property is tried. */

/** @param long the number for `npm run test:long`. @returns a tenth of it, at least 5, for `npm test`. */
export function runs(long: number): number {
  return process.env.FREEHOLD_LONG ? long : Math.max(5, Math.ceil(long / 10));
}
