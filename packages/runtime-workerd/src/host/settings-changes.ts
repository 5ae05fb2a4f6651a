/** Counts the changes of the vertical's settings: all objects of this process see the same count. */

let count = 0;

export function settingsChanges(): number {
  return count;
}

export function noteSettingsChange(): void {
  count++;
}
