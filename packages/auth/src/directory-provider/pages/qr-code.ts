/** A QR code as inline SVG: one path, no style attribute, so that the content security policy needs no exception. */
import { encode } from 'uqr';
import { type Html, html } from './html.ts';

/** Light modules around the code, as its standard asks for. */
const QUIET_ZONE = 4;

/** @param label what the picture is, for whoever does not see it. */
export function qrCode(text: string, label: string): Html {
  const { size, data } = encode(text, { border: QUIET_ZONE, ecc: 'M' });
  const path = data.flatMap((row, y) => row.map((dark, x) => (dark ? `M${x} ${y}h1v1h-1z` : ''))).join('');
  return html`<svg class="qr" role="img" aria-label="${label}" viewBox="0 0 ${size} ${size}" shape-rendering="crispEdges"><rect width="${size}" height="${size}" fill="#fff"/><path d="${path}" fill="#000"/></svg>`;
}
