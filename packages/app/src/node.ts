/** The part that needs Node: reading built pages. */
export { readWebFiles } from './web/web-files.ts';
