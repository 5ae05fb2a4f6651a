/** The number of runs of a property. */

/**
 * @param long the number for `npm run test:long`.
 * @param short the number for `npm test`. Default: a tenth of `long`, at least 5.
 */
export function runs(long: number, short: number = Math.max(5, Math.ceil(long / 10))): number {
  return process.env.FREEHOLD_LONG ? long : short;
}
