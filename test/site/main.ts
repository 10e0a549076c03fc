/** `npm run site`: the pages of the repository as a site in build/site. It fetches nothing, and opens from the disk, too. */
import { fileURLToPath } from 'node:url';
import { buildSite } from './build-site.js';

const folder = fileURLToPath(new URL('../../../build/site/', import.meta.url));
const pages = buildSite(folder);
console.log(`${folder}index.html: ${pages.length} pages`);
