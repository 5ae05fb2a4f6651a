/** Copies a text. Without a secure context there is no clipboard: then it is left selected, to be copied by hand. */
export async function copyText(text: string, shown: HTMLElement | null): Promise<'copied' | 'selected'> {
  try {
    await navigator.clipboard.writeText(text);
    return 'copied';
  } catch {
    if (shown) getSelection()?.selectAllChildren(shown);
    return 'selected';
  }
}
