"""A browser script that lists the texts of a page with too little contrast."""

# Compares each text with the colour behind it, as WCAG 2.2 demands (1.4.3, level AA); formulas and
# limits are from there. Colours are painted on a canvas and read back, because only the browser
# knows what color-mix() and light-dark() come to.
CONTRAST_SCRIPT = """() => {
  const canvas = document.createElement('canvas');
  canvas.width = canvas.height = 1;
  const context = canvas.getContext('2d', { willReadFrequently: true });
  const toRgba = (colour) => {
    context.clearRect(0, 0, 1, 1); context.fillStyle = colour; context.fillRect(0, 0, 1, 1);
    return Array.from(context.getImageData(0, 0, 1, 1).data);
  };
  const computeLuminance = ([r, g, b]) => [r, g, b].map((c) => c / 255)
    .map((c) => c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4)
    .reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
  const findBackground = (node) => {
    for (let parent = node; parent; parent = parent.parentElement) {
      const colour = toRgba(getComputedStyle(parent).backgroundColor);
      if (colour[3] === 255) return colour;
    }
    return [255, 255, 255, 255];
  };
  const lowContrastTexts = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const node = walker.currentNode.parentElement;
    if (!walker.currentNode.textContent.trim() || !node.getClientRects().length) continue;
    if (node.closest('script, style, noscript, .sr, .skip, option, :disabled')) continue;
    const style = getComputedStyle(node);
    const textColour = toRgba(node.closest('svg') ? style.fill : style.color);
    const [lighter, darker] =
      [textColour, findBackground(node)].map(computeLuminance).sort((x, y) => y - x);
    const size = parseFloat(style.fontSize);
    const isLarge = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700);
    const ratio = (lighter + 0.05) / (darker + 0.05);
    if (ratio < (isLarge ? 3 : 4.5)) {
      lowContrastTexts.push(
        [walker.currentNode.textContent.trim().slice(0, 30), ratio.toFixed(2)]);
    }
  }
  return lowContrastTexts;
}"""
