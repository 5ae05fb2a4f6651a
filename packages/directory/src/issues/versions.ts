/** Which of two versions of a vertical is the later one (semver.org, section 11; a date or a counter is fine too). */

const VERSION = /^v?(\d{1,15}(?:\.\d{1,15}){0,5})(?:-([0-9A-Za-z.-]{1,100}))?(?:\+[0-9A-Za-z.-]{1,100})?$/;

/**
 * Whether `version` is as late as `other`, or later. Where nobody can tell — no version, or one of another form — it
 * counts as later: an issue that comes back for nothing costs a look, one that stays silent costs more.
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

/** Numbers by value and before words; words by their characters; nothing before anything. */
function comparePart(left: string, right: string): number {
  if (left === right) return 0;
  const [leftIsNumber, rightIsNumber] = [/^\d+$/.test(left), /^\d+$/.test(right)];
  if (leftIsNumber && rightIsNumber) return Number(left) - Number(right);
  if (left === '' || right === '') return left === '' ? -1 : 1;
  if (leftIsNumber !== rightIsNumber) return leftIsNumber ? -1 : 1;
  return left < right ? -1 : 1;
}
