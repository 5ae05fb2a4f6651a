/** A link inside the application: an ordinary link that does not reload the page. */
import type { AnchorHTMLAttributes, MouseEvent } from 'react';
import { goTo } from '../lib/router.ts';

export function Link({ href, onClick, ...rest }: AnchorHTMLAttributes<HTMLAnchorElement> & { href: string }) {
  const followLink = (event: MouseEvent<HTMLAnchorElement>) => {
    onClick?.(event);
    // A new tab, a new window and a download stay the browser's business.
    if (
      event.defaultPrevented ||
      event.button !== 0 ||
      event.metaKey ||
      event.ctrlKey ||
      event.shiftKey ||
      event.altKey
    )
      return;
    event.preventDefault();
    goTo(href);
  };
  return <a {...rest} href={href} onClick={followLink} />;
}
