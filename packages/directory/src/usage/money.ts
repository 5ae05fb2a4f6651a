/**
 * Amounts of US dollars, exactly. A list price is a whole number of picodollars (10⁻¹² dollars); a margin in basis
 * points (10⁻⁴) makes that a whole number of 10⁻¹⁶ dollars. Nothing is ever rounded.
 */

const PICO_PLACES = 12;
const MARGIN_PLACES = 4;
const WHOLE_MARGIN = 10n ** BigInt(MARGIN_PLACES);
/** Picodollars in a millionth of a dollar. */
const MICRO = 1_000_000n;

/**
 * A line's amount: its shortest decimal, which is what was priced. A product with 10¹², or the number's binary value, need
 * not be. Less than a picodollar is in no price, and is cut off.
 */
export function picodollarsOf(usd: number): bigint {
  const [mantissa = '', exponent = '0'] = String(usd).split('e');
  const [whole = '', fraction = ''] = mantissa.split('.');
  const shift = PICO_PLACES + Number(exponent) - fraction.length;
  const digits = BigInt(whole + fraction);
  return shift >= 0 ? digits * 10n ** BigInt(shift) : digits / 10n ** BigInt(-shift);
}

/** The two columns that a sum is kept in. */
export function splitOf(picodollars: bigint): { readonly micro: number; readonly pico: number } {
  return { micro: Number(picodollars / MICRO), pico: Number(picodollars % MICRO) };
}

export function picodollarsOfSplit({
  micro,
  pico,
}: {
  readonly micro: string;
  readonly pico: string;
}): bigint {
  return BigInt(micro) * MICRO + BigInt(pico);
}

/** An amount as an exact decimal: `0.00125`. */
export function usdText(picodollars: bigint): string {
  return decimal(picodollars, PICO_PLACES);
}

/** An amount with the margin on top, as an exact decimal. */
export function usdWithMargin(picodollars: bigint, marginBasisPoints: number): string {
  return decimal(picodollars * (WHOLE_MARGIN + BigInt(marginBasisPoints)), PICO_PLACES + MARGIN_PLACES);
}

function decimal(value: bigint, places: number): string {
  const digits = value.toString().padStart(places + 1, '0');
  const fraction = digits.slice(-places).replace(/0+$/, '');
  return fraction === '' ? digits.slice(0, -places) : `${digits.slice(0, -places)}.${fraction}`;
}
