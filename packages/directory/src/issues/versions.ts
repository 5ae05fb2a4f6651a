/** The order of versions of a vertical (semver.org, section 11; a date or a counter works too). */

const VERSION = /^v?(\d{1,15}(?:\.\d{1,15}){0,5})(?:-([0-9A-Za-z.-]{1,100}))?(?:\+[0-9A-Za-z.-]{1,100})?$/;

/**
 * Whether `version` is the same as `other` or later. Without a version, or with one of another form, the answer is true: a
 * needless regression costs a look, a missed one costs more.
 */
export function isSameOrLater(version: string | null, other: string | null): boolean {
  if (version === null || other === null || version === other) return true;
  const [left, right] = [VERSION.exec(version), VERSION.exec(other)];
  if (!left || !right) return true;
  const order = compareParts((left[1] ?? '').split('.'), (right[1] ?? '').split('.'), '0');
  if (order !== 0) return order > 0;
  // A pre-release comes before the release itself.
  if (left[2] === undefined || right[2] === undefined) return left[2] === undefined;
  return compareParts(left[2].split('.'), right[2].split('.'), '') >= 0;
}

function compareParts(left: readonly string[], right: readonly string[], missing: string): number {
  for (let i = 0; i < Math.max(left.length, right.length); i++) {
    const order = comparePart(left[i] ?? missing, right[i] ?? missing);
    if (order !== 0) return order;
  }
  return 0;
}

/** Numbers by value and before words; words by their characters; a missing part first. */
function comparePart(left: string, right: string): number {
  if (left === right) return 0;
  const [leftIsNumber, rightIsNumber] = [/^\d+$/.test(left), /^\d+$/.test(right)];
  if (leftIsNumber && rightIsNumber) return Number(left) - Number(right);
  if (left === '' || right === '') return left === '' ? -1 : 1;
  if (leftIsNumber !== rightIsNumber) return leftIsNumber ? -1 : 1;
  return left < right ? -1 : 1;
}
